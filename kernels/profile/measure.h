/*
 * Measures attention of one pack: tensors in the device's regions, one problem, the median time of
 * its launches.
 */
#ifndef BALLAST_PROFILE_MEASURE_H
#define BALLAST_PROFILE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include <ballast/attention.h>

#include "kernels/profile/device.h"
#include "kernels/profile/fit.h"
#include "kernels/profile/pack.h"

struct profile_measure {
    struct profile_device *device;
    ballast_attention_layout layout; /* of one TP rank */
    uint32_t repeats;
    bool backward; /* too */
};

struct profile_measured {
    uint64_t pairs; /* over all query heads */
    struct profile_point forward;
    struct profile_point backward; /* us is 0 where it was not measured */
};

/* 0, or a sysexits code with `error` filled. */
int profile_measure_pack(const struct profile_measure *measure, const struct profile_pack *pack,
                         struct profile_measured *ret_measured, ballast_attention_error *error);

/* Tiles of a forward launch, over all KV heads. */
int profile_measure_tiles(const ballast_attention_layout *layout, const struct profile_pack *pack,
                          uint64_t *ret_tiles, ballast_attention_error *error);

/* Device memory for the tensors of `rows` query rows and `keys` key rows. */
uint64_t profile_measure_bytes(const struct profile_measure *measure, uint64_t rows, uint64_t keys);

#endif
