/* S = 64 and W(d) = 1024 d + 16 d^2, as in test_refine.c. */
#include <criterion/criterion.h>

#include "pack/grouping.h"
#include "pack/placement.h"

#define MOST 40

static struct placement open_placement(uint32_t microbatches, uint32_t max_tokens,
                                       uint32_t replicas)
{
    struct pack_shape shape = { .microbatches = microbatches,
                                .window = 64,
                                .max_tokens = max_tokens,
                                .replicas = replicas,
                                .stages = 1 };
    struct cost_options cost = { .crossover_tokens = 64 };
    cr_assert_eq(cost_model_init(&shape.cost, &cost, NULL), 0);
    struct placement placement;
    cr_assert_eq(placement_init(&placement, &shape, NULL), 0);
    return placement;
}

static void expect_groups(struct placement *placement, size_t count, const uint32_t *lengths,
                          const uint32_t *groups)
{
    struct piece pieces[MOST] = { 0 };
    for (size_t i = 0; i < count; i++)
        pieces[i].length = lengths[i];
    cr_assert_eq(place_pieces(placement, pieces, count, (struct leeway){ 0 }, NULL), 0);
    for (size_t i = 0; i < count; i++)
        cr_expect_eq(placement->groups[i], groups[i], "piece %zu of %u in %u", i, lengths[i],
                     placement->groups[i]);
}

Test(placement, each_goes_to_the_lightest)
{
    struct placement placement = open_placement(3, 128, 0);
    expect_groups(&placement, 6, (uint32_t[]){ 64, 48, 32, 30, 8, 8 },
                  (uint32_t[]){ 0, 1, 2, 2, 1, 2 });
    expect_groups(&placement, 3, (uint32_t[]){ 8, 8, 8 }, (uint32_t[]){ 0, 1, 2 });
    cr_assert_eq(placement.works[2], 8 * 1024 + 64 * 16, "of this step alone");
    cr_assert_eq(placement.tokens[2], 8);
    placement_fini(&placement);
}

Test(placement, tokens_bar_the_lightest)
{
    struct placement placement = open_placement(2, 64, 0);
    uint32_t lengths[18] = { 60 }, groups[18] = { 0 };
    for (size_t i = 1; i < 18; i++) {
        lengths[i] = 4;
        groups[i] = i < 17; /* sixteen of 4 fill the second one; the last goes to the heavier */
    }
    expect_groups(&placement, 18, lengths, groups);
    placement_fini(&placement);
}

Test(placement, what_finds_no_room_is_left_out)
{
    struct placement placement = open_placement(2, 64, 0);
    expect_groups(&placement, 5, (uint32_t[]){ 48, 32, 16, 40, 16 },
                  (uint32_t[]){ 0, 1, 1, GROUP_NONE, 1 });
    cr_assert_eq(placement.tokens[0] + placement.tokens[1], 48 + 64);
    placement_fini(&placement);
}

/* In the order given: 4 + 32 beside 8 + 64. Giving 8 away is better. */
Test(placement, refines_where_each_microbatch_is_for_itself)
{
    struct placement placement = open_placement(2, 128, 0);
    expect_groups(&placement, 4, (uint32_t[]){ 4, 8, 32, 64 }, (uint32_t[]){ 0, 0, 0, 1 });
    cr_assert_eq(placement.works[1], 131072, "the sums are those after refining");
    placement_fini(&placement);
}

Test(placement, the_lightest_replica_takes_the_next)
{
    struct placement placement = open_placement(4, 64, 2);
    expect_groups(&placement, 4, (uint32_t[]){ 32, 16, 16, 8 }, (uint32_t[]){ 0, 2, 3, 2 });
    cr_assert_eq(placement.works[3], 20480);
    placement_fini(&placement);
}

/* With W(d) = 1024 d + 32 d^2, 128 tokens in pieces of 4 are less work than one of 64. */
Test(placement, a_lighter_replica_without_room_is_passed_over)
{
    struct placement placement = open_placement(4, 64, 2);
    struct cost_options cost = { .crossover_tokens = 32 };
    cr_assert_eq(cost_model_init(&placement.shape.cost, &cost, NULL), 0);
    uint32_t lengths[34] = { 64 }, groups[34] = { 0 };
    for (uint32_t i = 1; i < 34; i++) {
        lengths[i] = 4;
        groups[i] = 3 - i % 2; /* 2 and 3 by turns */
    }
    groups[33] = 1;
    expect_groups(&placement, 34, lengths, groups);
    placement_fini(&placement);
}
