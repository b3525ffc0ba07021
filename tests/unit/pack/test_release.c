/*
 * All with two micro-batches of S = 64 and W(d) = 1024 d + 16 d^2, so that
 *     W(64) = 131072, W(56) = 107520, W(32) = 49152, W(16) = 20480, W(8) = 9216.
 */
#include <criterion/criterion.h>

#include "pack/release.h"

#define FRESH 204 /* what an outlier's first step counts, in 1024ths */

static struct pack_shape shape_of(uint32_t microbatches, uint32_t max_tokens)
{
    struct pack_shape shape = { .microbatches = microbatches,
                                .window = 64,
                                .max_tokens = max_tokens };
    struct cost_options cost = { .crossover_tokens = 64 };
    cr_assert_eq(cost_model_init(&shape.cost, &cost, NULL), 0);
    return shape;
}

struct scene {
    struct release release;
    struct outlier pool[8], forced[2];
    size_t count;
};

/* A pool of these lengths, longest first, all arrived in step 0. */
static void set_scene(struct scene *scene, const struct pack_shape *shape, uint32_t balance,
                      size_t count, const uint32_t *lengths)
{
    *scene = (struct scene){ .count = count };
    cr_assert_eq(release_init(&scene->release, shape, balance, NULL), 0);
    for (size_t i = 0; i < count; i++)
        scene->pool[i] = (struct outlier){ cost_piece(&shape->cost, lengths[i]), lengths[i], 0 };
}

static void force(struct scene *scene, uint32_t length)
{
    scene->forced[scene->release.forced_count++] =
        (struct outlier){ cost_piece(&scene->release.shape.cost, length), length, 0 };
    scene->release.forced = scene->forced;
}

static struct choice best_of(struct scene *scene, struct liquid liquid, uint32_t step)
{
    size_t best = SIZE_MAX;
    cr_assert_eq(
        release_consider(&scene->release, scene->pool, scene->count, liquid, step, &best, NULL), 0);
    cr_assert_lt(best, scene->release.choice_count);
    return scene->release.choices[best];
}

static void expect_taken(struct scene *scene, const struct choice *choice, const bool *taken)
{
    bool take[8];
    release_take(&scene->release, scene->pool, scene->count, choice, take);
    for (size_t i = 0; i < scene->count; i++)
        cr_expect_eq(take[i], taken[i], "outlier %zu", i);
}

static const struct liquid dry = { 0 };

Test(release, price_doubles_with_every_eighth_of_balance)
{
    static const struct {
        uint32_t balance;
        uint64_t price;
    } cases[] = { { 0, 0 },          { 62, 507 /* 0.496 */ }, { 125, 1024 },
                  { 250, 3 * 1024 }, { 500, 15 * 1024 },      { 1000, 255 * 1024 } };
    struct pack_shape shape = shape_of(2, 128);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct release release;
        cr_assert_eq(release_init(&release, &shape, cases[c].balance, NULL), 0);
        cr_expect_eq(release.price, cases[c].price, "balance %u: %lu", cases[c].balance,
                     release.price);
        release_fini(&release);
    }
}

/* 64 beside 32 + 32 wastes 32768 of work, the work of 32 tokens; the two 32 waste nothing. */
Test(release, waste_is_weighed_against_waiting)
{
    struct pack_shape shape = shape_of(2, 128);
    struct scene scene;
    set_scene(&scene, &shape, 1000, 3, (uint32_t[]){ 64, 32, 32 });
    struct choice best = best_of(&scene, dry, 0);
    cr_assert_eq(scene.release.choice_count, 3, "from 64, from 32, none");
    cr_assert_eq(scene.release.choices[0].cost, 32 * 255 * 1024);
    cr_assert_eq(scene.release.choices[0].value, 128 * FRESH - 32 * 255 * 1024);
    cr_assert_eq(best.first, 1);
    cr_assert_eq(best.level, 49152);
    cr_assert_eq(best.cost, 0);
    cr_assert_eq(best.value, 64 * FRESH);
    expect_taken(&scene, &best, (bool[]){ false, true, true });
    release_fini(&scene.release);

    set_scene(&scene, &shape, 0, 3, (uint32_t[]){ 64, 32, 32 });
    best = best_of(&scene, dry, 0);
    cr_assert_eq(best.first, 0);
    cr_assert_eq(best.level, 131072);
    expect_taken(&scene, &best, (bool[]){ true, true, true });
    release_fini(&scene.release);
}

/* Under the level of 64 there is room for 32 + 32, not for a third. */
Test(release, the_longest_sets_the_level_for_the_others)
{
    struct pack_shape shape = shape_of(2, 128);
    struct scene scene;
    set_scene(&scene, &shape, 300, 4, (uint32_t[]){ 64, 32, 32, 32 });
    struct choice best = best_of(&scene, dry, 0);
    struct choice from_longest = scene.release.choices[0];
    cr_assert_eq(from_longest.level, 131072);
    expect_taken(&scene, &from_longest, (bool[]){ true, true, true, false });
    cr_assert_eq(best.first, 1);
    expect_taken(&scene, &scene.release.choices[1], (bool[]){ true, true, true, true });
    release_fini(&scene.release);
}

/* Equal pieces make level steps two high: there is no reason to let half of them wait. */
Test(release, outliers_pile_up_where_the_longest_is_below_the_mean)
{
    struct pack_shape shape = shape_of(2, 128);
    struct scene scene;
    set_scene(&scene, &shape, 1000, 4, (uint32_t[]){ 32, 32, 32, 32 });
    struct choice best = best_of(&scene, dry, 0);
    cr_assert_eq(best.cost, 0);
    cr_assert_eq(best.value, 128 * FRESH);
    expect_taken(&scene, &best, (bool[]){ true, true, true, true });
    release_fini(&scene.release);
}

/* Also below one that is far longer, and waits. */
Test(release, shorter_ones_pile_up_beside_a_long_one_that_waits)
{
    struct pack_shape shape = shape_of(2, 128);
    struct scene scene;
    set_scene(&scene, &shape, 1000, 5, (uint32_t[]){ 64, 16, 16, 16, 16 });
    struct choice best = best_of(&scene, dry, 0);
    cr_assert_eq(best.first, 1);
    cr_assert_eq(best.cost, 0);
    expect_taken(&scene, &best, (bool[]){ false, true, true, true, true });
    release_fini(&scene.release);
}

Test(release, tokens_limit_what_piles_up)
{
    struct pack_shape shape = shape_of(2, 64);
    struct scene scene;
    set_scene(&scene, &shape, 0, 5, (uint32_t[]){ 32, 32, 32, 32, 32 });
    struct choice best = best_of(&scene, dry, 0);
    expect_taken(&scene, &best, (bool[]){ true, true, true, true, false });
    release_fini(&scene.release);
}

/* 64 tokens of liquid with the work of one 64 fill the other micro-batch to its level. */
Test(release, liquid_fills_up_to_the_level)
{
    struct pack_shape shape = shape_of(2, 128);
    struct scene scene;
    set_scene(&scene, &shape, 1000, 1, (uint32_t[]){ 64 });
    struct choice best = best_of(&scene, (struct liquid){ 131072, 64 }, 0);
    cr_assert_eq(best.first, 0);
    cr_assert_eq(best.cost, 0);
    /* A quarter of it leaves three quarters of the level empty: 96 tokens' work. */
    best_of(&scene, (struct liquid){ 32768, 16 }, 0);
    cr_assert_eq(scene.release.choices[0].cost, 96 * 255 * 1024);
    release_fini(&scene.release);
}

/* S_max = S: 64 takes no liquid, the other micro-batch 64 of 100 tokens; 36 wait for a step. */
Test(release, liquid_beyond_all_tokens_waits)
{
    struct pack_shape shape = shape_of(2, 64);
    struct scene scene;
    set_scene(&scene, &shape, 0, 1, (uint32_t[]){ 64 });
    best_of(&scene, (struct liquid){ 100 * 1024, 100 }, 0);
    cr_assert_eq(scene.release.choices[0].cost, 36 * RELEASE_UNIT);
    cr_assert_eq(scene.release.choices[1].cost, 0, "without the 64 all of it finds room");
    release_fini(&scene.release);

    set_scene(&scene, &shape, 125, 1, (uint32_t[]){ 64 }); /* and 64 tokens' work are wasted */
    best_of(&scene, (struct liquid){ 100 * 1024, 100 }, 0);
    cr_assert_eq(scene.release.choices[0].cost, (36 + 64) * RELEASE_UNIT);
    release_fini(&scene.release);
}

/*
 * 56 leaves room for 8 tokens, 32768 of a liquid of 262144: the other micro-batch takes the rest,
 * 229376, which is the level. Twice that, less 107520 + 262144, is wasted: 87 tokens' work.
 */
Test(release, liquid_rises_above_the_mean_where_tokens_are_short)
{
    struct pack_shape shape = shape_of(2, 64);
    struct scene scene;
    set_scene(&scene, &shape, 125, 1, (uint32_t[]){ 56 });
    best_of(&scene, (struct liquid){ 262144, 64 }, 0);
    int64_t cost = scene.release.choices[0].cost;
    cr_assert_geq(cost, 87 * 1024);
    cr_assert_leq(cost, 87 * 1024 + 2 * (229376 / 4096 + 1), "cost %ld", cost);
    release_fini(&scene.release);
}

/* At a price of 15 no bin may be idle: the liquid rises to 8 tokens above 56, and the rest waits.
 */
Test(release, liquid_waits_where_it_would_rise_alone)
{
    struct pack_shape shape = shape_of(2, 64);
    struct scene scene;
    set_scene(&scene, &shape, 500, 1, (uint32_t[]){ 56 });
    best_of(&scene, (struct liquid){ 262144, 64 }, 0);
    struct choice choice = scene.release.choices[0];
    cr_assert_eq(choice.left.tokens, (262144 - 32768 - (107520 + 32768)) / 4096);
    cr_assert_geq(choice.cost, (int64_t)choice.left.tokens * RELEASE_UNIT);
    cr_assert_leq(choice.cost, (int64_t)(choice.left.tokens + 15) * RELEASE_UNIT, "nearly level");
    release_fini(&scene.release);
}

Test(release, the_dearer_waste_is_the_fewer_may_be_idle)
{
    static const struct {
        uint32_t balance, replicas, idle;
    } cases[] = { { 0, 0, 64 }, { 125, 0, 32 }, { 500, 0, 4 }, { 1000, 0, 0 }, { 1000, 16, 16 } };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct pack_shape shape = shape_of(64, 128);
        struct release release;
        shape.replicas = cases[c].replicas;
        cr_assert_eq(release_init(&release, &shape, cases[c].balance, NULL), 0);
        cr_expect_eq(release.idle, cases[c].idle, "case %zu: %u", c, release.idle);
        release_fini(&release);
    }
}

/* 64 must go: another 64 beside it wastes nothing, and 32 would be a second storey. */
Test(release, what_is_forced_is_built_upon)
{
    struct pack_shape shape = shape_of(2, 128);
    struct scene scene;
    set_scene(&scene, &shape, 1000, 2, (uint32_t[]){ 64, 32 });
    force(&scene, 64);
    struct choice best = best_of(&scene, dry, 0);
    cr_assert_eq(best.first, 0);
    cr_assert_eq(best.cost, 0);
    expect_taken(&scene, &best, (bool[]){ true, false });
    release_fini(&scene.release);

    /* Its level is there in any case: two of 32 go with it without being the longest. */
    set_scene(&scene, &shape, 1000, 2, (uint32_t[]){ 32, 32 });
    force(&scene, 64);
    best = best_of(&scene, dry, 0);
    expect_taken(&scene, &best, (bool[]){ true, true });
    cr_assert_eq(best.cost, 32 * 255 * 1024);
    release_fini(&scene.release);
}

Test(release, without_a_pool_there_is_one_choice)
{
    struct pack_shape shape = shape_of(2, 128);
    struct scene scene;
    set_scene(&scene, &shape, 125, 0, NULL);
    force(&scene, 64);
    struct choice best = best_of(&scene, dry, 0);
    cr_assert_eq(scene.release.choice_count, 1);
    cr_assert_eq(best.first, 0);
    cr_assert_eq(best.cost, 128 * 1024, "the other micro-batch is empty");
    release_fini(&scene.release);
}

/* A quarter of the batch is 32 tokens: 24 are better than 8, whatever they waste. */
Test(release, a_step_is_filled_to_a_quarter_first)
{
    struct pack_shape shape = shape_of(2, 128);
    struct scene scene;
    set_scene(&scene, &shape, 1000, 2, (uint32_t[]){ 16, 8 });
    struct choice best = best_of(&scene, dry, 0);
    cr_assert_eq(best.first, 0);
    cr_assert_eq(best.tokens, 24);
    cr_assert_gt(best.cost, scene.release.choices[1].cost);
    best = best_of(&scene, (struct liquid){ 32 * 1024, 32 }, 0);
    cr_assert_eq(best.tokens, 32);
    cr_assert_eq(scene.release.choices[scene.release.choice_count - 1].tokens, 32,
                 "the liquid fills it without any outlier");
    release_fini(&scene.release);
}

/* A quarter of three tokens is one, not none: an empty step is never a choice. */
Test(release, a_step_of_a_few_tokens_is_not_empty)
{
    struct pack_shape shape = shape_of(3, 1);
    struct scene scene;
    shape.window = 1;
    set_scene(&scene, &shape, 1000, 2, (uint32_t[]){ 1, 1 });
    struct choice best = best_of(&scene, dry, 0);
    cr_assert_eq(best.first, 0);
    release_fini(&scene.release);
}

Test(release, lengths_much_alike_are_tried_once)
{
    struct pack_shape shape = shape_of(3, 128);
    struct scene scene;
    set_scene(&scene, &shape, 500, 3, (uint32_t[]){ 64, 61, 60 });
    best_of(&scene, dry, 0);
    cr_assert_eq(scene.release.choice_count, 3);
    cr_assert_eq(scene.release.choices[1].first, 2, "60 is a sixteenth shorter than 64, 61 is not");
    cr_assert_eq(scene.release.choices[2].first, 3);
    release_fini(&scene.release);
}

Test(release, age_counts_and_step_numbers_may_wrap)
{
    struct pack_shape shape = shape_of(2, 128);
    struct scene scene;
    set_scene(&scene, &shape, 0, 1, (uint32_t[]){ 16 });
    scene.pool[0].arrived = UINT32_MAX;
    struct choice best = best_of(&scene, dry, 1);
    cr_assert_eq(best.value, 16 * (2 * RELEASE_UNIT + FRESH));
    release_fini(&scene.release);
}

/* One replica of two micro-batches is one bin, filled to its share of all that is there. */
Test(release, replicas_are_bins)
{
    struct pack_shape shape = shape_of(4, 64);
    shape.replicas = 2;
    shape.stages = 1;
    struct scene scene;
    set_scene(&scene, &shape, 1000, 4, (uint32_t[]){ 32, 32, 32, 32 });
    cr_assert_eq(scene.release.bin_tokens, 128);
    struct choice best = best_of(&scene, dry, 0);
    cr_assert_eq(best.cost, 0);
    expect_taken(&scene, &best, (bool[]){ true, true, true, true });
    release_fini(&scene.release);
}
