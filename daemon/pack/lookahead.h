/*
 * Choosing with foresight: the stream is known in advance, so the best few choices are played
 * forward over the outliers that the next global batches will bring, by the same rule, and the one
 * that costs least in waste and waiting is taken. Nothing is served before it has arrived.
 *
 * One thread at a time for one struct lookahead. Pure.
 */
#ifndef BALLAST_PACK_LOOKAHEAD_H
#define BALLAST_PACK_LOOKAHEAD_H

#include "pack/release.h"

/* Global batches played forward, and choices played. More of either gains little (tests/bench). */
#define LOOKAHEAD_BATCHES 3
#define LOOKAHEAD_CHOICES 4

/* What one global batch brings. */
struct arrivals {
    struct outlier *outliers; /* longest first */
    size_t count, capacity;
    struct liquid liquid;
};

struct lookahead {
    struct arrivals batches[LOOKAHEAD_BATCHES];
    size_t batch_count; /* known ones: fewer near the end of data */

    struct outlier *pool, *merged; /* working memory */
    size_t pool_capacity, merged_capacity;
    bool *take;
    size_t take_capacity;
};

void lookahead_fini(struct lookahead *lookahead);

/*
 * Splits the lengths that follow in the stream into global batches of at least `batch_tokens`, the
 * first arriving in `step`; pieces of at least `outlier_tokens` are outliers. What does not fill a
 * batch is ignored.
 */
int lookahead_learn(struct lookahead *lookahead, const struct pack_shape *shape,
                    uint64_t batch_tokens, uint32_t outlier_tokens, uint32_t step,
                    const uint32_t *lengths, size_t count, struct error *err);

/* The choice to make in `step`; `pool` is sorted longest first. EX_OSERR when out of memory. */
int lookahead_choose(struct lookahead *lookahead, struct release *release,
                     const struct outlier *pool, size_t count, struct liquid liquid, uint32_t step,
                     struct choice *ret_choice, struct error *err);

#endif
