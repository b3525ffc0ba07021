#include "plan/auto_thresholds.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/plan.h"
#include "plan/threshold_trial.h"
#include "support/length_job.h"

#define WAITING 16

static struct pack_shape shape_of(uint32_t microbatches, uint32_t window, uint32_t max_tokens)
{
    struct pack_shape shape = { .microbatches = microbatches,
                                .window = window,
                                .max_tokens = max_tokens };
    struct cost_options cost = { .crossover_tokens = window / 5 + 1 };
    cr_assert_eq(cost_model_init(&shape.cost, &cost, NULL), 0);
    return shape;
}

static struct piece *pieces_of(const uint32_t *lengths, size_t count)
{
    struct piece *pieces = calloc(count + 1, sizeof *pieces);
    for (size_t i = 0; i < count; i++)
        pieces[i] = (struct piece){ .document = i, .length = lengths[i] };
    return pieces;
}

static struct auto_thresholds *choose(const uint32_t *lengths, size_t count,
                                      const struct pack_shape *shape)
{
    struct pack_options options = { .auto_thresholds = true, .max_waiting_steps = WAITING };
    struct piece *pieces = pieces_of(lengths, count);
    struct auto_thresholds *choice;
    struct error err = { 0 };
    cr_assert_eq(auto_thresholds_try(pieces, count, shape, &options, &choice, &err), 0, "%s",
                 err.text);
    free(pieces);
    return choice;
}

/* Every setting can be written into a configuration and is taken by the policy. */
static void check_valid(const struct auto_thresholds *choice, const struct pack_shape *shape)
{
    cr_assert_gt(choice->trial_count, 0);
    for (size_t i = 0; i < choice->trial_count; i++) {
        const struct threshold_trial *trial = &choice->trials[i];
        cr_assert(trial->count >= 1 && trial->count <= AUTO_THRESHOLDS_LEVELS);
        cr_assert_gt(trial->thresholds[0], 0);
        for (unsigned level = 1; level < trial->count; level++)
            cr_assert_gt(trial->thresholds[level], trial->thresholds[level - 1]);
        cr_assert_leq(trial->thresholds[trial->count - 1], (uint64_t)shape->window + 1);
        cr_assert(i == 0 || choice->trials[i - 1].score <= trial->score);
    }
}

static const char *chosen(const struct auto_thresholds *choice, const struct pack_shape *shape)
{
    static char text[128];
    return threshold_trial_text(&choice->trials[0], shape->window, text, sizeof text);
}

/* Some two long pieces a step of four micro-batches: waiting for companions pays. */
Test(auto_thresholds, outliers_are_found)
{
    uint32_t lengths[4000];
    for (size_t i = 0; i < 4000; i++)
        lengths[i] = i % 70 == 3 ? 900 + (uint32_t)(i % 7) : 20 + (uint32_t)(i % 5);
    struct pack_shape shape = shape_of(4, 1000, 2000);
    struct auto_thresholds *choice = choose(lengths, 4000, &shape);
    check_valid(choice, &shape);
    const struct threshold_trial *best = &choice->trials[0];
    cr_assert_leq(best->thresholds[0], 906, "%s", chosen(choice, &shape));
    const struct threshold_trial *none = best;
    while (none->thresholds[0] <= shape.window)
        none++;
    cr_assert_lt(best->excess, none->excess);
    cr_assert_leq(best->score, none->score);
    auto_thresholds_free(choice);
}

Test(auto_thresholds, equal_lengths_need_none)
{
    uint32_t lengths[2000];
    for (size_t i = 0; i < 2000; i++)
        lengths[i] = 100;
    struct pack_shape shape = shape_of(4, 1000, 2000);
    struct auto_thresholds *choice = choose(lengths, 2000, &shape);
    check_valid(choice, &shape);
    cr_assert_str_eq(chosen(choice, &shape), "none");
    cr_assert_eq(choice->trials[0].excess, 0);
    auto_thresholds_free(choice);
}

Test(auto_thresholds, all_outliers)
{
    uint32_t lengths[2000];
    for (size_t i = 0; i < 2000; i++)
        lengths[i] = 1000;
    struct pack_shape shape = shape_of(4, 1000, 2000);
    struct auto_thresholds *choice = choose(lengths, 2000, &shape);
    check_valid(choice, &shape);
    cr_assert_str_eq(chosen(choice, &shape), "none");
    auto_thresholds_free(choice);
}

Test(auto_thresholds, a_sample_shorter_than_a_step)
{
    uint32_t lengths[] = { 5, 900, 7 };
    struct pack_shape shape = shape_of(4, 1000, 2000);
    for (size_t count = 0; count <= 3; count++) {
        struct auto_thresholds *choice = choose(lengths, count, &shape);
        check_valid(choice, &shape);
        cr_assert_eq(choice->steps, 0);
        cr_assert_eq(choice->pieces, count);
        auto_thresholds_free(choice);
    }
}

Test(auto_thresholds, any_corpus, .timeout = 60)
{
    for (uint64_t seed = 0; seed < 60; seed++) {
        uint32_t window = 1 + (uint32_t)(seed * 37 % 3000);
        struct pack_shape shape =
            shape_of(1 + (uint32_t)(seed % 9), window, window * (1 + (uint32_t)(seed % 2)));
        uint32_t *lengths = heavy_tailed_lengths(seed, 600, window);
        struct auto_thresholds *choice = choose(lengths, 600, &shape);
        struct auto_thresholds *again = choose(lengths, 600, &shape);
        check_valid(choice, &shape);
        cr_assert_eq(choice->trial_count, again->trial_count);
        cr_assert_eq(
            memcmp(choice->trials, again->trials, choice->trial_count * sizeof *choice->trials), 0);
        auto_thresholds_free(choice);
        auto_thresholds_free(again);
        free(lengths);
    }
}

/* What waits for ever counts as delayed: a queue that never fills is no bargain. */
Test(auto_thresholds, waiting_at_the_end_is_delay)
{
    uint32_t lengths[1000];
    for (size_t i = 0; i < 1000; i++)
        lengths[i] = i == 500 ? 900 : 50;
    struct piece *pieces = pieces_of(lengths, 1000);
    struct pack_shape shape = shape_of(2, 1000, 2000);
    struct pack_options options = { .max_waiting_steps = WAITING };
    struct threshold_trial trial = { .thresholds = { 800 }, .count = 1 };
    uint64_t steps;
    cr_assert_eq(threshold_trial_run(&trial, pieces, 1000, &shape, &options, &steps, NULL), 0);
    cr_assert_gt(trial.delay, 0);
    cr_assert_gt(steps, 20);
    free(pieces);
}

static struct digest job_digest_of(const struct length_job *job)
{
    struct planner *planner;
    struct error err = { 0 };
    cr_assert_eq(planner_new(job->config, job->corpus, &planner, &err), 0, "%s", err.text);
    struct digest digest = planner_job_digest(planner);
    planner_free(planner);
    return digest;
}

#define FRAME                                                                                      \
    "context_window: 1000\nparallel: { microbatches: 4 }\npacking: { outlier_thresholds: %s }\n"

/* A job with `auto` is the job that has the chosen thresholds written out. */
Test(auto_thresholds, are_part_of_the_job)
{
    uint32_t *lengths = heavy_tailed_lengths(7, 3000, 1000);
    struct length_source source = { "a", 1, 0, lengths, 3000 };
    char yaml[256], text[128];
    snprintf(yaml, sizeof yaml, FRAME, "auto");
    struct length_job job = length_job_open(yaml, &source, 1);
    struct planner *planner;
    struct step_plan plan = { 0 };
    cr_assert_eq(planner_new(job.config, job.corpus, &planner, NULL), 0);
    const struct auto_thresholds *choice = planner_auto_thresholds(planner);
    cr_assert_not_null(choice);
    struct pack_shape shape = shape_of(4, 1000, 2000);
    check_valid(choice, &shape);
    snprintf(text, sizeof text, "[%lu]", choice->trials[0].thresholds[0]);
    if (choice->trials[0].thresholds[0] <= 1000)
        threshold_trial_text(&choice->trials[0], 1000, text, sizeof text);
    cr_assert_eq(planner_step(planner, &plan, NULL), PLANNER_STEP);
    struct digest digest = planner_job_digest(planner);
    planner_free(planner);

    snprintf(yaml, sizeof yaml, FRAME, text);
    struct length_job given = length_job_open(yaml, &source, 1);
    snprintf(yaml, sizeof yaml, FRAME, "[123]");
    struct length_job other = length_job_open(yaml, &source, 1);
    char same[2][DIGEST_TEXT_BYTES];
    /* Length files lie in two folders of another name, which is no part of the digest. */
    cr_assert_str_eq(digest_text(job_digest_of(&given), same[0]), digest_text(digest, same[1]));
    cr_assert_not(digest_equal(job_digest_of(&other), digest));
    step_plan_fini(&plan);
    length_job_close(&job);
    length_job_close(&given);
    length_job_close(&other);
    free(lengths);
}

#define DATA BALLAST_SOURCE_DIR "/../shared/data/"

static uint32_t *read_lengths(const char *path, size_t *ret_count)
{
    FILE *file = fopen(path, "r");
    uint32_t *lengths = malloc(100000 * sizeof *lengths);
    size_t count = 0;
    char line[32];
    while (count < 100000 && fgets(line, sizeof line, file)) {
        uint32_t length = (uint32_t)strtoul(line, NULL, 10);
        lengths[count++] = length < 131072 ? length : 131072;
    }
    fclose(file);
    *ret_count = count;
    return lengths;
}

/* No worse, by its own rule, than the settings that are published or in our benches. */
static void check_against_settings(const char *path)
{
    struct threshold_trial settings[] = { { .thresholds = { 32768 }, .count = 1 },
                                          { .thresholds = { 32768, 81920 }, .count = 2 },
                                          { .thresholds = { 16384, 49152, 98304 }, .count = 3 } };
    size_t count;
    uint32_t *lengths = read_lengths(path, &count);
    struct pack_shape shape = shape_of(4, 131072, 262144);
    struct auto_thresholds *choice = choose(lengths, count, &shape);
    struct piece *pieces = pieces_of(lengths, count);
    struct pack_options options = { .max_waiting_steps = WAITING };
    check_valid(choice, &shape);
    for (size_t i = 0; i < 3; i++) {
        uint64_t steps;
        cr_assert_eq(
            threshold_trial_run(&settings[i], pieces, count, &shape, &options, &steps, NULL), 0);
        cr_assert_leq(choice->trials[0].score, settings[i].score, "%s: %s", path,
                      chosen(choice, &shape));
    }
    free(pieces);
    free(lengths);
    auto_thresholds_free(choice);
}

Test(auto_thresholds, against_fixed_settings, .timeout = 60)
{
    if (access(DATA "lengths-wlbllm.txt", R_OK) != 0)
        cr_skip_test("../shared/data is not here");
    check_against_settings(DATA "lengths-wlbllm.txt");
    check_against_settings(DATA "lengths-prolong.txt");
}
