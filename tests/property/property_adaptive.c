/*
 * `adaptive` over ordinary and pathological corpora, layouts and settings: every token once, caps
 * and max_delay kept, no step empty, plans the same from anywhere, never worse than `plain`.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/permutation.h"
#include "plan/plan.h"
#include "simulate/tally.h"
#include "support/ledger.h"
#include "support/length_job.h"

#define WINDOW 128
#define CROSSOVER 24    /* in proportion to the window as in the paper */
#define ROUNDING 1e-9   /* of sums of doubles */
#define FIRST_OUTLIER 9 /* tokens: a sixteenth of the window, and one */

/* ---- corpora ---- */

typedef uint32_t length_of(uint64_t draw, size_t index);

static uint32_t between(uint64_t draw, uint32_t least, uint32_t most)
{
    return least + (uint32_t)((draw >> 32) % (most - least + 1));
}

static uint32_t heavy_tailed(uint64_t draw, size_t index)
{
    (void)index;
    return between(draw, 1, WINDOW >> (draw % 8));
}

static uint32_t one_token(uint64_t draw, size_t index)
{
    (void)draw, (void)index;
    return 1;
}

static uint32_t half_windows(uint64_t draw, size_t index)
{
    (void)draw, (void)index;
    return WINDOW / 2;
}

/* No two fit into a window. */
static uint32_t over_half(uint64_t draw, size_t index)
{
    (void)draw, (void)index;
    return WINDOW / 2 + 1;
}

static uint32_t whole_windows(uint64_t draw, size_t index)
{
    (void)draw, (void)index;
    return WINDOW;
}

static uint32_t all_outliers(uint64_t draw, size_t index)
{
    (void)index;
    return between(draw, FIRST_OUTLIER, WINDOW);
}

/* Far below the window, so that the longest says nothing about how full a step should be. */
static uint32_t short_outliers(uint64_t draw, size_t index)
{
    (void)index;
    return between(draw, FIRST_OUTLIER, 2 * FIRST_OUTLIER);
}

static uint32_t one_giant(uint64_t draw, size_t index)
{
    return index == 20 ? 30 * WINDOW : between(draw, 1, FIRST_OUTLIER);
}

/* Runs of one kind, then of the other: what waits finds no company for long. */
static uint32_t tides(uint64_t draw, size_t index)
{
    return index / 50 % 2 ? between(draw, WINDOW * 3 / 4, WINDOW) : between(draw, 1, 8);
}

static const struct kind {
    const char *name;
    length_of *length;
    size_t most_tokens; /* 0: as long as wanted */
} kinds[] = {
    { "heavy-tailed", heavy_tailed, 0 },
    { "one token", one_token, 0 },
    { "half windows", half_windows, 0 },
    { "over half", over_half, 0 },
    { "whole windows", whole_windows, 0 },
    { "all outliers", all_outliers, 0 },
    { "short outliers", short_outliers, 0 },
    { "one giant", one_giant, 0 },
    { "tides", tides, 0 },
    { "smaller than a step", heavy_tailed, WINDOW },
    { "a single token", one_token, 1 },
};
#define KINDS (sizeof kinds / sizeof *kinds)

/* Lengths of at least so many tokens, if the kind has them; the caller's to free. */
static uint32_t *make_lengths(const struct kind *kind, uint64_t seed, size_t tokens,
                              size_t *ret_count)
{
    if (kind->most_tokens && kind->most_tokens < tokens)
        tokens = kind->most_tokens;
    uint32_t *lengths = calloc(tokens, sizeof *lengths);
    size_t count = 0;
    for (size_t sum = 0; sum < tokens; count++) {
        lengths[count] = kind->length(mix_keys(seed, count), count);
        sum += lengths[count];
    }
    *ret_count = count;
    return lengths;
}

/* ---- settings ---- */

#define MOST_TEXT 400

struct setting {
    uint32_t replicas, microbatches, max_tokens, max_delay;
    double balance;
    const char *objective;
};

static const struct setting settings[] = {
    { 1, 1, WINDOW, 1, 0.5, "max-microbatch" },
    { 1, 1, WINDOW * 3 / 2, 32, 1, "max-microbatch" },
    { 1, 2, WINDOW, 1, 1, "max-microbatch" },
    { 2, 1, WINDOW * 2, 3, 0.5, "max-microbatch" },
    { 1, 3, WINDOW, 2, 0.5, "max-microbatch" },
    { 1, 4, WINDOW * 2, 1, 1, "max-microbatch" },
    { 2, 2, WINDOW * 2, 32, 0, "max-microbatch" },
    { 2, 2, WINDOW * 3 / 2, 32, 0.5, "max-microbatch" },
    { 2, 2, WINDOW, 32, 1, "max-microbatch" },
    { 2, 2, WINDOW * 3 / 2, 4, 0.7, "step-time" },
    { 3, 3, WINDOW + 1, 5, 0.3, "max-microbatch" },
    { 4, 4, WINDOW, 1, 0.5, "step-time" },
    { 4, 4, WINDOW, 1, 1, "max-microbatch" },
    { 4, 4, WINDOW * 2, 1024, 1, "max-microbatch" },
};
#define SETTINGS (sizeof settings / sizeof *settings)

struct run {
    char text[MOST_TEXT + 40]; /* of messages */
    const struct setting *setting;
    uint32_t *lengths;
    struct length_job job;
};

static size_t batch_tokens(const struct setting *setting)
{
    return (size_t)setting->replicas * setting->microbatches * WINDOW;
}

static struct run run_open(const struct kind *kind, const struct setting *setting,
                           const char *policy, uint64_t seed, size_t batches, uint32_t epochs)
{
    struct run run = { .setting = setting };
    char yaml[MOST_TEXT];
    bool plain = strcmp(policy, "plain") == 0;
    snprintf(yaml, sizeof yaml,
             "seed: 3\ncontext_window: %d\nmax_sequence_length: %u\nlast_step: serve\n"
             "parallel: { dp: %u, pp: 2, microbatches: %u }\n"
             "packing: { policy: %s, balance: %.1f, max_delay: %u, objective: %s }\n",
             WINDOW, plain ? WINDOW : setting->max_tokens, setting->replicas, setting->microbatches,
             policy, setting->balance, setting->max_delay, setting->objective);
    snprintf(run.text, sizeof run.text, "corpus: %s\n%s", kind->name, yaml);
    size_t count;
    run.lengths = make_lengths(kind, seed, batches * batch_tokens(setting), &count);
    struct length_source source = { "s", 1, epochs, run.lengths, count };
    run.job = length_job_open(yaml, &source, 1);
    run.job.config->cost.crossover_tokens = CROSSOVER;
    return run;
}

static void run_close(struct run *run)
{
    length_job_close(&run->job);
    free(run->lengths);
}

static struct planner *run_planner(const struct run *run)
{
    struct planner *planner;
    struct error err = { 0 };
    cr_assert_eq(planner_new(run->job.config, run->job.corpus, &planner, &err), 0, "%s", err.text);
    return planner;
}

/* ---- rules ---- */

static void check_step(const struct run *run, const struct step_plan *plan, struct ledger *ledger)
{
    cr_assert_gt(plan->tokens, 0, "step %lu is empty\n%s", plan->step, run->text);
    for (uint32_t m = 0; m < plan->microbatch_count; m++)
        cr_assert_leq(plan->microbatches[m].tokens, run->setting->max_tokens, "%s", run->text);
    for (size_t i = 0; i < plan->piece_count; i++) {
        const struct piece *piece = &plan->pieces[i];
        cr_assert_leq(piece->arrived, plan->step, "served before it arrived\n%s", run->text);
        cr_assert_leq(plan->step - piece->arrived, run->setting->max_delay, "step %lu\n%s",
                      plan->step, run->text);
        const char *wrong = ledger_serve(ledger, piece);
        cr_assert_null(wrong, "%s, step %lu\n%s", wrong, plan->step, run->text);
    }
}

static void check_whole_run(const struct run *run)
{
    struct planner *planner = run_planner(run);
    struct ledger ledger = ledger_new(run->job.corpus);
    struct step_plan plan = { 0 };
    struct error err = { 0 };
    enum planner_result result;
    while ((result = planner_step(planner, &plan, &err)) == PLANNER_STEP)
        check_step(run, &plan, &ledger);
    cr_assert_eq(result, PLANNER_END, "%s\n%s", err.text, run->text);
    cr_assert_eq(ledger_unserved(&ledger), 0, "%s", run->text);
    step_plan_fini(&plan);
    ledger_free(&ledger);
    planner_free(planner);
}

Test(property_adaptive, serves_every_token_once_within_caps_and_max_delay, .timeout = 200)
{
    for (size_t k = 0; k < KINDS; k++)
        for (size_t s = 0; s < SETTINGS; s++) {
            struct run run = run_open(&kinds[k], &settings[s], "adaptive", 7, 25, 1);
            check_whole_run(&run);
            run_close(&run);
        }
}

/*
 * A step holds a quarter of a global batch at least. Only where S_max is near S may a piece that
 * must go keep a long one out.
 */
Test(property_adaptive, steps_are_not_starved, .timeout = 200)
{
    for (size_t k = 0; k < KINDS; k++)
        for (size_t s = 0; s < SETTINGS; s++) {
            if (settings[s].max_tokens < WINDOW * 3 / 2)
                continue;
            struct run run = run_open(&kinds[k], &settings[s], "adaptive", 7, 25, 0);
            struct planner *planner = run_planner(&run);
            struct step_plan plan = { 0 };
            for (int step = 0; step < 40; step++) {
                cr_assert_eq(planner_step(planner, &plan, NULL), PLANNER_STEP);
                cr_assert_geq(plan.tokens * 4, batch_tokens(run.setting), "step %d holds %lu\n%s",
                              step, plan.tokens, run.text);
            }
            step_plan_fini(&plan);
            planner_free(planner);
            run_close(&run);
        }
}

/* One planner alone, one like it, and one that goes astray and is put back to every state of the
 * first. */
static void check_determinism(const struct run *run)
{
    struct planner *planners[] = { run_planner(run), run_planner(run), run_planner(run) };
    struct step_plan plans[3] = { 0 };
    struct planner_state state = { 0 };
    enum planner_result result = PLANNER_STEP;
    while (result == PLANNER_STEP) {
        cr_assert_eq(planner_save(planners[0], &state, NULL), 0);
        cr_assert_eq(planner_restore(planners[2], &state, NULL), 0);
        result = planner_step(planners[0], &plans[0], NULL);
        for (int p = 1; p < 3; p++) {
            cr_assert_eq(planner_step(planners[p], &plans[p], NULL), result, "%s", run->text);
            cr_assert(digest_equal(plans[p].digest, plans[0].digest), "planner %d, step %lu\n%s", p,
                      plans[0].step, run->text);
            cr_assert_eq(plans[p].waiting.tokens, plans[0].waiting.tokens, "%s", run->text);
        }
        planner_step(planners[2], &plans[2], NULL); /* astray, so that all has to be restored */
    }
    cr_assert_eq(result, PLANNER_END);
    planner_state_fini(&state);
    for (int p = 0; p < 3; p++) {
        step_plan_fini(&plans[p]);
        planner_free(planners[p]);
    }
}

Test(property_adaptive, plans_are_the_same_from_anywhere, .timeout = 200)
{
    for (size_t k = 0; k < KINDS; k++)
        for (size_t s = 0; s < SETTINGS; s++) {
            struct run run = run_open(&kinds[k], &settings[s], "adaptive", 7, 12, 1);
            check_determinism(&run);
            run_close(&run);
        }
}

static struct tally tally_of(const struct run *run, int steps)
{
    struct planner *planner = run_planner(run);
    struct step_plan plan = { 0 };
    struct tally tally = { 0 };
    for (int step = 0; step < steps; step++) {
        cr_assert_eq(planner_step(planner, &plan, NULL), PLANNER_STEP);
        tally_add(&tally, &plan);
    }
    step_plan_fini(&plan);
    planner_free(planner);
    return tally;
}

/* May it let outliers wait for a while, for the sake of the largest micro-batch? */
static bool has_leeway(const struct setting *setting)
{
    return setting->balance >= 0.5 && setting->max_delay >= 3 &&
           strcmp(setting->objective, "max-microbatch") == 0;
}

/*
 * Over a run, the makespan ratio is at most that of `plain`. Without leeway it may not be: `plain`
 * cuts documents wherever a window ends, which `adaptive` never does.
 */
Test(property_adaptive, never_worse_than_plain, .timeout = 200)
{
    for (size_t k = 0; k < KINDS; k++)
        for (size_t s = 0; s < SETTINGS; s++) {
            if (!has_leeway(&settings[s]))
                continue;
            for (uint64_t seed = 1; seed <= 3; seed++) {
                struct run run = run_open(&kinds[k], &settings[s], "adaptive", seed, 25, 0);
                struct run plain = run_open(&kinds[k], &settings[s], "plain", seed, 25, 0);
                struct tally ours = tally_of(&run, 60), theirs = tally_of(&plain, 60);
                cr_expect_leq(tally_makespan_ratio(&ours), tally_makespan_ratio(&theirs) + ROUNDING,
                              "%f against %f\n%s", tally_makespan_ratio(&ours),
                              tally_makespan_ratio(&theirs), run.text);
                run_close(&run);
                run_close(&plain);
            }
        }
}

/* So much room that tokens never stand in the way, and no price on waste. */
Test(property_adaptive, nothing_waits_at_balance_0_where_tokens_permit, .timeout = 200)
{
    for (size_t k = 0; k < KINDS; k++)
        for (uint32_t n = 1; n <= 16; n *= 2) {
            struct setting setting = { 1, n, WINDOW * (n + 1), 32, 0, "max-microbatch" };
            struct run run = run_open(&kinds[k], &setting, "adaptive", 7, 25, 0);
            struct tally tally = tally_of(&run, 60);
            cr_assert_eq(tally.delay_max, 0, "%lu steps\n%s", tally.delay_max, run.text);
            run_close(&run);
        }
}
