/* Saved planner states: the nearest is found, memory stays bounded, restoring them changes nothing.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "serve/checkpoints.h"
#include "support/length_job.h"

#define YAML                                                                                       \
    "seed: 3\ncontext_window: 512\nmax_sequence_length: 1024\nparallel: { dp: 1, cp: 1, "          \
    "microbatches: 2 }\npacking: { policy: wlb, outlier_thresholds: [256] }\n"

struct bench {
    struct length_job job;
    uint32_t *lengths;
    struct planner *planner;
    struct checkpoints checkpoints;
    struct step_plan plan;
};

static struct bench bench_open(void)
{
    struct bench bench = { .lengths = heavy_tailed_lengths(5, 400, 512) };
    struct length_source source = { "a", 1, 0, bench.lengths, 400 };
    struct error err = { 0 };
    bench.job = length_job_open(YAML, &source, 1);
    cr_assert_eq(planner_new(bench.job.config, bench.job.corpus, &bench.planner, &err), 0, "%s",
                 err.text);
    checkpoints_init(&bench.checkpoints);
    return bench;
}

static void bench_close(struct bench *bench)
{
    checkpoints_fini(&bench->checkpoints);
    step_plan_fini(&bench->plan);
    planner_free(bench->planner);
    length_job_close(&bench->job);
    free(bench->lengths);
}

static void step(struct bench *bench)
{
    struct error err = { 0 };
    cr_assert_eq(planner_step(bench->planner, &bench->plan, &err), PLANNER_STEP, "%s", err.text);
}

/* Runs to `to`, keeping states as the planner thread does. */
static void run_to(struct bench *bench, uint64_t to)
{
    struct error err = { 0 };
    while (planner_next_step(bench->planner) < to) {
        if (checkpoints_due(&bench->checkpoints, planner_next_step(bench->planner)))
            cr_assert_eq(checkpoints_add(&bench->checkpoints, bench->planner, &err), 0);
        step(bench);
    }
}

Test(checkpoints, the_nearest_state_at_or_before_a_step)
{
    struct bench bench = bench_open();
    cr_assert_null(checkpoints_nearest(&bench.checkpoints, 10));
    run_to(&bench, 200);
    cr_assert_eq(checkpoints_nearest(&bench.checkpoints, 0)->next_step, 0);
    cr_assert_eq(checkpoints_nearest(&bench.checkpoints, 63)->next_step, 0);
    cr_assert_eq(checkpoints_nearest(&bench.checkpoints, 64)->next_step, 64);
    cr_assert_eq(checkpoints_nearest(&bench.checkpoints, UINT64_MAX)->next_step, 192);
    bench_close(&bench);
}

Test(checkpoints, positions_left_by_a_jump_are_found_and_few)
{
    struct bench bench = bench_open();
    struct error err = { 0 };
    for (uint64_t at = 10; at <= 60; at += 10) {
        run_to(&bench, at);
        cr_assert_eq(checkpoints_leave(&bench.checkpoints, bench.planner, &err), 0);
    }
    cr_assert_eq(checkpoints_nearest(&bench.checkpoints, 55)->next_step, 50);
    cr_assert_eq(checkpoints_nearest(&bench.checkpoints, 25)->next_step, 0, "forgotten by now");
    bench_close(&bench);
}

Test(checkpoints, restoring_gives_the_same_plans)
{
    struct bench bench = bench_open();
    struct error err = { 0 };
    run_to(&bench, 151);
    struct digest digest = bench.plan.digest; /* of step 150 */
    cr_assert_eq(planner_restore(bench.planner, checkpoints_nearest(&bench.checkpoints, 150), &err),
                 0);
    cr_assert_eq(planner_next_step(bench.planner), 128);
    run_to(&bench, 151);
    cr_assert(digest_equal(bench.plan.digest, digest));
    bench_close(&bench);
}

Test(checkpoints, states_put_in_from_elsewhere_outlive_thinning)
{
    struct bench bench = bench_open();
    struct planner_state far = { .next_step = 1000003 }, again = { .next_step = 1000003 };
    struct error err = { 0 };
    cr_assert_eq(checkpoints_put(&bench.checkpoints, &far, &err), 0);
    cr_assert_eq(checkpoints_put(&bench.checkpoints, &again, &err), 0, "held already");
    cr_assert_eq(bench.checkpoints.count, 1);
    run_to(&bench, (uint64_t)CHECKPOINT_SPACING * (CHECKPOINT_MOST + 40));
    cr_assert_gt(bench.checkpoints.spacing, CHECKPOINT_SPACING);
    cr_assert_leq(bench.checkpoints.count, CHECKPOINT_MOST);
    cr_assert_eq(checkpoints_nearest(&bench.checkpoints, 1000003)->next_step, 1000003);
    cr_assert_lt(checkpoints_nearest(&bench.checkpoints, 1000002)->next_step, 1000000);
    bench_close(&bench);
}

Test(checkpoints, thin_out_and_stay_evenly_spaced)
{
    struct bench bench = bench_open();
    run_to(&bench, (uint64_t)CHECKPOINT_SPACING * (CHECKPOINT_MOST + 40));
    const struct checkpoints *held = &bench.checkpoints;
    cr_assert_leq(held->count, CHECKPOINT_MOST);
    cr_assert_eq(held->spacing, 2 * CHECKPOINT_SPACING);
    for (size_t i = 0; i < held->count; i++)
        cr_assert_eq(held->states[i].next_step, i * held->spacing);
    bench_close(&bench);
}

Test(checkpoints, behind_a_step_are_forgotten)
{
    struct bench bench = bench_open();
    struct error err = { 0 };
    run_to(&bench, 300);
    cr_assert_eq(checkpoints_leave(&bench.checkpoints, bench.planner, &err), 0);
    checkpoints_forget(&bench.checkpoints, 192);
    cr_assert_eq(checkpoints_nearest(&bench.checkpoints, 1000)->next_step, 192);
    checkpoints_forget(&bench.checkpoints, 191);
    cr_assert_eq(checkpoints_nearest(&bench.checkpoints, 1000)->next_step, 128);
    checkpoints_forget(&bench.checkpoints, 0);
    cr_assert_eq(bench.checkpoints.count, 1);
    bench_close(&bench);
}
