/* Driving a packer by hand in tests: lengths in, micro-batches of lengths out. */
#ifndef BALLAST_TESTS_PACK_FEED_H
#define BALLAST_TESTS_PACK_FEED_H

#include <criterion/criterion.h>

#include "pack/policies.h"

struct feed {
    const struct pack_policy *policy;
    void *packer;
    uint64_t next_document, step;
    const uint32_t *ahead; /* lengths that a policy with foresight is told; the test's own */
    size_t ahead_count;
    struct packing packing;
};

static inline struct pack_shape feed_shape(uint32_t microbatches, uint32_t window,
                                           uint32_t max_tokens)
{
    struct pack_shape shape = { .microbatches = microbatches,
                                .window = window,
                                .max_tokens = max_tokens };
    struct cost_options cost = { .crossover_tokens = window };
    cr_assert_eq(cost_model_init(&shape.cost, &cost, NULL), 0);
    return shape;
}

static inline struct feed feed_open(const struct pack_policy *policy, struct pack_shape shape,
                                    struct pack_options options)
{
    struct feed feed = { .policy = policy };
    struct error err = { 0 };
    if (options.max_waiting_steps == 0)
        options.max_waiting_steps = PACK_MAX_THRESHOLDS + 1;
    cr_assert_eq(policy->open(&shape, &options, &feed.packer, &err), 0, "%s", err.text);
    return feed;
}

static inline void feed_close(struct feed *feed)
{
    feed->policy->close(feed->packer);
    packing_fini(&feed->packing);
}

/* One whole document of this length. */
static inline void feed_offer(struct feed *feed, uint32_t length)
{
    struct piece piece = { .document = feed->next_document++,
                           .arrived = feed->step,
                           .length = length,
                           .flags = PIECE_ENDS_DOCUMENT };
    cr_assert_eq(feed->policy->offer(feed->packer, &piece, NULL), 0);
}

static inline void feed_pack(struct feed *feed, bool draining)
{
    if (feed->policy->foresee)
        cr_assert_eq(
            feed->policy->foresee(feed->packer, feed->step, feed->ahead, feed->ahead_count, NULL),
            0);
    cr_assert_eq(feed->policy->pack(feed->packer, draining, &feed->packing, NULL), 0);
    feed->step++;
}

static inline size_t feed_waiting(const struct feed *feed)
{
    return feed->policy->waiting(feed->packer, NULL, 0);
}

/* Micro-batch m of the last step holds exactly these lengths in this order. */
static inline void expect_lengths(const struct feed *feed, uint32_t m, size_t count,
                                  const uint32_t *lengths)
{
    const struct packed_microbatch *microbatch = &feed->packing.microbatches[m];
    cr_assert_eq(microbatch->count, count, "micro-batch %u holds %u pieces", m, microbatch->count);
    for (size_t i = 0; i < count; i++)
        cr_assert_eq(feed->packing.pieces[microbatch->first + i].length, lengths[i],
                     "micro-batch %u piece %zu: %u", m, i,
                     feed->packing.pieces[microbatch->first + i].length);
}

#define EXPECT(feed, m, ...)                                                                       \
    expect_lengths((feed), (m), sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t),            \
                   (uint32_t[]){ __VA_ARGS__ })

#endif
