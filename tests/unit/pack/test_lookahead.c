/* Two micro-batches of S = 64, S_max = 128, and W(d) = 1024 d + 16 d^2, as in test_release.c. */
#include <criterion/criterion.h>

#include "pack/lookahead.h"

#define OUTLIER 5 /* tokens */

static struct pack_shape shape_of(void)
{
    struct pack_shape shape = { .microbatches = 2, .window = 64, .max_tokens = 128 };
    struct cost_options cost = { .crossover_tokens = 64 };
    cr_assert_eq(cost_model_init(&shape.cost, &cost, NULL), 0);
    return shape;
}

static void learn(struct lookahead *lookahead, const struct pack_shape *shape, uint32_t step,
                  const uint32_t *lengths, size_t count)
{
    cr_assert_eq(lookahead_learn(lookahead, shape, 128, OUTLIER, step, lengths, count, NULL), 0);
}

Test(lookahead, lengths_become_batches)
{
    uint32_t lengths[] = { 61, 3,  64,           /* 128 */
                           20, 64, 2,  2, 39, 5, /* 132: the last one reaches over */
                           10 };
    struct pack_shape shape = shape_of();
    struct lookahead lookahead = { 0 };
    learn(&lookahead, &shape, 7, lengths, sizeof lengths / sizeof *lengths);
    cr_assert_eq(lookahead.batch_count, 2, "the third is not full");

    const struct arrivals *batch = &lookahead.batches[0];
    cr_assert_eq(batch->count, 2);
    cr_assert_eq(batch->outliers[0].length, 64, "longest first");
    cr_assert_eq(batch->outliers[0].work, 131072);
    cr_assert_eq(batch->outliers[0].arrived, 7);
    cr_assert_eq(batch->outliers[1].length, 61);
    cr_assert_eq(batch->liquid.tokens, 3);
    cr_assert_eq(batch->liquid.work, 3 * 1024 + 9 * 16);

    batch = &lookahead.batches[1];
    cr_assert_eq(batch->count, 4);
    cr_assert_eq(batch->outliers[3].length, 5);
    cr_assert_eq(batch->outliers[3].arrived, 8);
    cr_assert_eq(batch->liquid.tokens, 4);

    learn(&lookahead, &shape, 8, lengths, 2);
    cr_assert_eq(lookahead.batch_count, 0, "what was known before is forgotten");
    lookahead_fini(&lookahead);
}

Test(lookahead, looks_no_further_than_it_says)
{
    uint32_t lengths[4 * (LOOKAHEAD_BATCHES + 2)];
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        lengths[i] = 32;
    struct pack_shape shape = shape_of();
    struct lookahead lookahead = { 0 };
    learn(&lookahead, &shape, 0, lengths, sizeof lengths / sizeof *lengths);
    cr_assert_eq(lookahead.batch_count, LOOKAHEAD_BATCHES);
    lookahead_fini(&lookahead);
}

/* Does the one outlier of 64 go now, beside eight small pieces of 4? */
static bool goes_now(const uint32_t *ahead, size_t ahead_count)
{
    struct pack_shape shape = shape_of();
    struct outlier pool = { cost_piece(&shape.cost, 64), 64, 0 };
    struct liquid liquid = { 8 * cost_piece(&shape.cost, 4), 32 };
    struct lookahead lookahead = { 0 };
    struct release release;
    struct choice choice;
    cr_assert_eq(release_init(&release, &shape, 125, NULL), 0);
    learn(&lookahead, &shape, 1, ahead, ahead_count);
    cr_assert_eq(lookahead_choose(&lookahead, &release, &pool, 1, liquid, 0, &choice, NULL), 0);
    release_fini(&release);
    lookahead_fini(&lookahead);
    return choice.first == 0;
}

/*
 * At a price of one token-step a token, letting it go now wastes 94 of them. Waiting costs 64 a
 * step, and, as long as nobody knows better, half as much again for the time after: 96.
 * With another 64 in the next batch it is done after one step: 64.
 */
Test(lookahead, foresight_changes_a_decision)
{
    uint32_t companion[17] = { 64 };
    for (size_t i = 1; i < 17; i++)
        companion[i] = 4;
    cr_assert(goes_now(NULL, 0));
    cr_assert_not(goes_now(companion, 17));
    cr_assert(goes_now(companion, 16), "a batch that is not full is not known");
}

/* Played with what must go, and afterwards it is as it was. */
Test(lookahead, what_is_forced_goes_with_the_first_step_only)
{
    struct pack_shape shape = shape_of();
    struct outlier pool[] = { { cost_piece(&shape.cost, 64), 64, 0 } }, forced = pool[0];
    uint32_t ahead[] = { 32, 32, 32, 32 };
    struct lookahead lookahead = { 0 };
    struct release release;
    struct choice choice;
    cr_assert_eq(release_init(&release, &shape, 1000, NULL), 0);
    release.forced = &forced;
    release.forced_count = 1;
    learn(&lookahead, &shape, 1, ahead, 4);
    cr_assert_eq(
        lookahead_choose(&lookahead, &release, pool, 1, (struct liquid){ 0 }, 0, &choice, NULL), 0);
    cr_assert_eq(choice.first, 0, "the other 64 makes the forced one's step level");
    cr_assert_eq(choice.cost, 0);
    cr_assert_eq(release.forced_count, 1);
    release_fini(&release);
    lookahead_fini(&lookahead);
}

/*
 * S_max = S, and small pieces fill this step and the next: where 32 goes, 32 of them wait, and the
 * others after them. That is no better than to let it wait, as it would be for one step alone.
 */
Test(lookahead, what_is_left_joins_the_next_batch)
{
    struct pack_shape shape = shape_of();
    shape.max_tokens = shape.window;
    struct outlier pool = { cost_piece(&shape.cost, 32), 32, 0 };
    struct liquid liquid = { 32 * cost_piece(&shape.cost, 4), 128 };
    uint32_t ahead[32];
    for (size_t i = 0; i < 32; i++)
        ahead[i] = 4;
    struct lookahead lookahead = { 0 };
    struct release release;
    struct choice choice;
    cr_assert_eq(release_init(&release, &shape, 0, NULL), 0);
    learn(&lookahead, &shape, 1, ahead, 32);
    cr_assert_eq(lookahead_choose(&lookahead, &release, &pool, 1, liquid, 0, &choice, NULL), 0);
    cr_assert_eq(choice.first, 1);
    release_fini(&release);
    lookahead_fini(&lookahead);
}

Test(lookahead, an_empty_pool_chooses_nothing)
{
    struct pack_shape shape = shape_of();
    uint32_t ahead[] = { 64, 64 };
    struct lookahead lookahead = { 0 };
    struct release release;
    struct choice choice = { .first = 9 };
    cr_assert_eq(release_init(&release, &shape, 500, NULL), 0);
    learn(&lookahead, &shape, 1, ahead, 2);
    cr_assert_eq(lookahead_choose(&lookahead, &release, NULL, 0, (struct liquid){ 4096, 4 }, 0,
                                  &choice, NULL),
                 0);
    cr_assert_eq(choice.first, 0);
    release_fini(&release);
    lookahead_fini(&lookahead);
}
