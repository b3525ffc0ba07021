/*
 * What is measured: lengths that double, and of each case as many copies as fill the device often
 * enough. Pure; no device.
 */
#ifndef BALLAST_PROFILE_GRID_H
#define BALLAST_PROFILE_GRID_H

#include <stdint.h>

/* first, 2 x first, 4 x first ... as long as they are at most `last`. first is at least 1. */
struct profile_range {
    uint32_t first, last;
};

uint32_t profile_range_count(struct profile_range range);

/* Length number `index`, below the count. */
uint32_t profile_range_at(struct profile_range range, uint32_t index);

/* What bounds the number of copies of one case. */
struct profile_bounds {
    uint32_t waves; /* wanted: how often the tiles of a launch fill the device */
    uint32_t slots; /* tiles that the device computes at once, at most */
    uint64_t bytes; /* of device memory, for tensors */
};

/*
 * Copies of a case of `tiles` tiles and `bytes` of tensors, both of one copy, that make the wanted
 * waves; fewer where memory ends before. 0 when not even one fits.
 */
uint32_t profile_copies(const struct profile_bounds *bounds, uint64_t tiles, uint64_t bytes);

/*
 * Short cases are measured with as many copies and with PROFILE_MORE_COPIES times as many: nearly
 * all launches have just the wanted waves, and would not tell what a launch costs from what its
 * tiles do.
 */
#define PROFILE_SHORT_KEYS 1024u
#define PROFILE_MORE_COPIES 3u

/* How often `tiles` fill the device. */
double profile_waves(const struct profile_bounds *bounds, uint64_t tiles);

#endif
