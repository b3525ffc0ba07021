/* From a corpus to plans, with every allocation failing once: an error, and no other plan.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "plan/plan.h"
#include "support/fault_sweep.h"
#include "support/length_job.h"

#define STEPS 4

/* What one pass gives, freed or not. */
struct pass {
    struct corpus *corpus;
    struct planner *planner;
    struct planner_state start; /* before step 0 */
    struct step_plan plan;
    struct digest digests[STEPS];
};

static void pass_fini(struct pass *pass)
{
    step_plan_fini(&pass->plan);
    planner_state_fini(&pass->start);
    planner_free(pass->planner);
    corpus_close(pass->corpus);
}

static int plan_steps(struct pass *pass, struct error *err)
{
    for (int step = 0; step < STEPS; step++) {
        if (planner_step(pass->planner, &pass->plan, err) != PLANNER_STEP)
            return err->code;
        pass->digests[step] = pass->plan.digest;
    }
    return 0;
}

static int prepare(struct pass *pass, const struct config *config, struct error *err)
{
    int failed = corpus_open(config->sources, config->source_count, config->vocab_size, NULL, NULL,
                             &pass->corpus, err);
    if (!failed)
        failed = planner_new(config, pass->corpus, &pass->planner, err);
    if (!failed)
        failed = planner_save(pass->planner, &pass->start, err);
    return failed;
}

static void expect_plans(const struct pass *pass, const struct pass *expected)
{
    for (int step = 0; step < STEPS; step++)
        cr_assert(digest_equal(pass->digests[step], expected->digests[step]), "step %d", step);
}

/* What failed in the middle goes on from a saved state as if nothing had been. */
static void expect_recovery(struct pass *pass, const struct pass *expected)
{
    struct error err = { 0 };
    cr_assert_eq(planner_restore(pass->planner, &pass->start, &err), 0, "%s", err.text);
    cr_assert_eq(plan_steps(pass, &err), 0, "%s", err.text);
    expect_plans(pass, expected);
}

/* True when the at-th allocation was one of this pass. */
static bool sweep_one(const struct config *config, const struct pass *expected,
                      unsigned long long at)
{
    struct pass pass = { 0 };
    struct error err = { 0 };
    fault_sweep_arm(at);
    int failed = prepare(&pass, config, &err);
    bool prepared = !failed;
    if (!failed)
        failed = plan_steps(&pass, &err);
    bool hit = fault_sweep_disarm();
    if (failed) {
        cr_assert_eq(err.code, EX_OSERR, "allocation %llu: %d, %s", at, err.code, err.text);
        cr_assert(hit);
    } else {
        expect_plans(&pass, expected);
    }
    if (prepared)
        expect_recovery(&pass, expected);
    pass_fini(&pass);
    return hit;
}

static void sweep(const char *yaml)
{
    if (!fault_sweep_possible())
        cr_skip_test("the fault shim is not preloaded");
    uint32_t *lengths = heavy_tailed_lengths(7, 300, 1500);
    struct length_source source = { "a", 1, 0, lengths, 300 };
    struct length_job job = length_job_open(yaml, &source, 1);
    struct error err = { 0 };
    struct pass expected = { 0 };
    cr_assert_eq(prepare(&expected, job.config, &err), 0, "%s", err.text);
    cr_assert_eq(plan_steps(&expected, &err), 0, "%s", err.text);
    unsigned long long at = 1;
    while (sweep_one(job.config, &expected, at))
        at++;
    cr_log_info("%llu allocations failed in turn", at - 1);
    cr_assert_gt(at, 20);
    pass_fini(&expected);
    length_job_close(&job);
    free(lengths);
}

#define SHAPE "parallel: { dp: 2, cp: 2, microbatches: 2 }\ncontext_window: 1024\n"

Test(allocation, of_wlb)
{
    sweep(SHAPE
          "max_sequence_length: 2048\npacking: { policy: wlb, outlier_thresholds: [256, 640] }");
}

Test(allocation, of_adaptive_with_hybrid_sharding)
{
    sweep(SHAPE "max_sequence_length: 2048\npacking: { policy: adaptive }\n"
                "sharding: { strategy: hybrid }");
}

Test(allocation, of_fixed_windows)
{
    sweep(SHAPE "packing: { policy: fixed-greedy, window: 2 }");
}

Test(allocation, of_plain)
{
    sweep(SHAPE "packing: { policy: plain }\nsharding: { strategy: per-sequence }");
}
