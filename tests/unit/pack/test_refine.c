/* W(d) = 1024 d + 16 d^2: W(64) = 131072, W(32) = 49152, W(16) = 20480, W(4) = 4352. */
#include <criterion/criterion.h>

#include "pack/grouping.h"
#include "pack/refine.h"

#define MOST 32
#define MOST_MICROBATCHES 8

struct scene {
    struct pack_shape shape;
    struct piece pieces[MOST];
    uint32_t groups[MOST];
    workload work[MOST_MICROBATCHES];
    uint32_t tokens[MOST_MICROBATCHES];
    struct placed placed;
};

static void set_scene(struct scene *scene, uint32_t microbatches, uint32_t max_tokens)
{
    *scene = (struct scene){
        .shape = { .microbatches = microbatches, .window = 64, .max_tokens = max_tokens }
    };
    struct cost_options cost = { .crossover_tokens = 64 };
    cr_assert_eq(cost_model_init(&scene->shape.cost, &cost, NULL), 0);
    scene->placed = (struct placed){ .shape = &scene->shape,
                                     .pieces = scene->pieces,
                                     .groups = scene->groups,
                                     .work = scene->work,
                                     .tokens = scene->tokens };
}

static void put(struct scene *scene, uint32_t microbatch, size_t count, uint32_t length)
{
    for (size_t i = 0; i < count; i++) {
        scene->pieces[scene->placed.count].length = length;
        scene->groups[scene->placed.count++] = microbatch;
        if (microbatch == GROUP_NONE)
            continue;
        scene->work[microbatch] += cost_piece(&scene->shape.cost, length);
        scene->tokens[microbatch] += length;
    }
}

static void refine(struct scene *scene)
{
    struct refine refine = { 0 };
    cr_assert_eq(refine_placed(&refine, &scene->placed, NULL), 0);
    refine_fini(&refine);
    workload work[MOST_MICROBATCHES] = { 0 };
    uint32_t tokens[MOST_MICROBATCHES] = { 0 };
    for (size_t i = 0; i < scene->placed.count; i++) {
        if (scene->groups[i] == GROUP_NONE)
            continue;
        cr_assert_lt(scene->groups[i], scene->shape.microbatches);
        work[scene->groups[i]] += cost_piece(&scene->shape.cost, scene->pieces[i].length);
        tokens[scene->groups[i]] += scene->pieces[i].length;
    }
    for (uint32_t m = 0; m < scene->shape.microbatches; m++) {
        cr_assert_eq(scene->work[m], work[m], "sums follow the pieces");
        cr_assert_eq(scene->tokens[m], tokens[m]);
        cr_assert_leq(tokens[m], scene->shape.max_tokens);
    }
}

Test(refine, the_heaviest_gives_what_lowers_it)
{
    struct scene scene;
    set_scene(&scene, 2, 128);
    put(&scene, 0, 2, 32);
    put(&scene, 1, 1, 32);
    put(&scene, 0, 1, 16);
    refine(&scene);
    cr_assert_eq(scene.groups[3], 1, "16 goes over");
    cr_assert_eq(scene.work[0], 98304);
    cr_assert_eq(scene.work[1], 69632);
}

/* Both are full: 16 goes for four of 4, as many tokens with less work. */
Test(refine, full_microbatches_exchange_a_long_piece_for_short_ones)
{
    struct scene scene;
    set_scene(&scene, 2, 80);
    put(&scene, 0, 1, 64);
    put(&scene, 0, 1, 16);
    put(&scene, 1, 20, 4);
    cr_assert_eq(scene.work[0], 151552);
    refine(&scene);
    cr_assert_eq(scene.work[0], 131072 + 4 * 4352);
    cr_assert_eq(scene.tokens[0], 80);
    cr_assert_eq(scene.tokens[1], 80);
}

/* Giving 16 would be best, but the other has no room for it without giving 15 back. */
Test(refine, caps_are_kept)
{
    struct scene scene;
    set_scene(&scene, 2, 80);
    put(&scene, 0, 1, 64);
    put(&scene, 0, 1, 16);
    put(&scene, 1, 5, 15); /* 75 tokens: 16 alone does not fit */
    workload before = scene.work[0];
    refine(&scene);
    cr_assert_lt(scene.work[0], before);
    cr_assert_eq(scene.tokens[0], 79);
    cr_assert_eq(scene.tokens[1], 76);
}

Test(refine, what_nothing_improves_stays)
{
    struct scene scene;
    set_scene(&scene, 2, 128);
    put(&scene, 0, 1, 64);
    put(&scene, 1, 2, 16);
    refine(&scene);
    cr_assert_eq(scene.groups[0], 0);
    cr_assert_eq(scene.groups[1], 1);
    cr_assert_eq(scene.groups[2], 1);
}

/* The lightest ones take no 32, and 40 for it is no gain; the last gives eight of 4 for it. */
Test(refine, all_partners_are_tried)
{
    struct scene scene;
    set_scene(&scene, MOST_MICROBATCHES, 64);
    put(&scene, 0, 2, 32);
    put(&scene, 1, 16, 4);
    for (uint32_t m = 2; m < MOST_MICROBATCHES; m++)
        put(&scene, m, 1, 40);
    refine(&scene);
    cr_assert_eq(scene.groups[0] + scene.groups[1], 1, "one of the two has gone to the second");
    for (uint32_t m = 0; m < MOST_MICROBATCHES; m++)
        cr_assert_leq(scene.work[m], 49152 + 8 * 4352);
}

Test(refine, pieces_without_a_place_are_let_alone)
{
    struct scene scene;
    set_scene(&scene, 2, 128);
    put(&scene, 0, 3, 16);
    put(&scene, GROUP_NONE, 2, 64);
    refine(&scene);
    cr_assert_eq(scene.groups[3], GROUP_NONE);
    cr_assert_eq(scene.groups[4], GROUP_NONE);
    cr_assert_eq(scene.tokens[0] + scene.tokens[1], 48);
    cr_assert_eq(scene.tokens[1], 16);
}

Test(refine, nothing_placed_and_one_microbatch_are_level)
{
    struct scene scene;
    set_scene(&scene, 3, 128);
    refine(&scene);
    set_scene(&scene, 1, 128);
    put(&scene, 0, 3, 32);
    refine(&scene);
}

/* 64 with four of 4, beside a micro-batch that is full of 4s and lighter than 64 alone. */
static void set_full_scene(struct scene *scene, struct leeway leeway)
{
    set_scene(scene, 2, 80);
    put(scene, 0, 1, 64);
    put(scene, 0, 4, 4);
    put(scene, 1, 20, 4);
    scene->placed.leeway = leeway;
}

Test(refine, small_pieces_above_the_level_stay_behind)
{
    struct scene scene;
    set_full_scene(&scene, (struct leeway){ 0 });
    refine(&scene);
    cr_assert_eq(scene.work[0], 131072 + 4 * 4352, "nothing may stay");

    set_full_scene(&scene, (struct leeway){ .small_tokens = 5 });
    refine(&scene);
    cr_assert_eq(scene.work[0], 131072);
    cr_assert_eq(scene.groups[1], GROUP_NONE);
    cr_assert_eq(scene.work[1], 20 * 4352, "the lighter one keeps what it has");

    set_full_scene(&scene, (struct leeway){ .small_tokens = 5, .idle = 1 });
    refine(&scene);
    cr_assert_eq(scene.work[0], 131072 + 4 * 4352, "one may be idle");
}

Test(refine, what_must_go_does_not_stay_behind)
{
    struct scene scene;
    set_full_scene(&scene, (struct leeway){ .small_tokens = 5, .urgent = 3 });
    refine(&scene);
    cr_assert_eq(scene.work[0], 131072 + 2 * 4352, "64 and the first two of 4");
    set_full_scene(&scene, (struct leeway){ .small_tokens = 4 });
    refine(&scene);
    cr_assert_eq(scene.work[0], 131072 + 4 * 4352, "4 is not small");
}

/* 60 + 6 + 4 + 2 stands 8448 above the other, which is full: 6 and its 6720 may stay, no more. */
Test(refine, no_more_stays_behind_than_stands_above)
{
    struct scene scene;
    set_scene(&scene, 2, 80);
    put(&scene, 0, 1, 60);
    put(&scene, 0, 1, 6);
    put(&scene, 0, 1, 4);
    put(&scene, 0, 1, 2);
    put(&scene, 1, 1, 50);
    put(&scene, 1, 7, 4);
    put(&scene, 1, 1, 2);
    cr_assert_eq(scene.work[0] - scene.work[1], 8448);
    scene.placed.leeway = (struct leeway){ .small_tokens = 8 };
    refine(&scene);
    cr_assert_eq(scene.groups[1], GROUP_NONE);
    cr_assert_eq(scene.groups[2], 0);
    cr_assert_eq(scene.groups[3], 0);
    cr_assert_eq(scene.work[0] - scene.work[1], 8448 - 6720);
}
