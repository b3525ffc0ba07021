/*
 * `fixed-solver` over random corpora: nothing is lost, caps hold, and plans are the same from any
 * saved state.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "plan/plan.h"
#include "support/length_job.h"

static struct length_job random_job(uint64_t seed, const char *policy, unsigned window)
{
    char yaml[512];
    snprintf(yaml, sizeof yaml,
             "context_window: %u\nlast_step: serve\nparallel: { dp: 1, microbatches: %u }\n"
             "packing: { policy: %s, window: %u, solver_nodes: %u }\n",
             64 + (unsigned)(seed * 37 % 3000), 1 + (unsigned)(seed % 5), policy, window,
             1 + (unsigned)(seed * 11 % 300));
    uint32_t *lengths = heavy_tailed_lengths(seed, 50 + seed * 13 % 400, 4000);
    if (seed % 4 == 0) /* all alike */
        for (size_t i = 0; i < 50; i++)
            lengths[i] = lengths[0];
    struct length_source source = { "a", 1, 1, lengths, seed % 4 ? 50 + seed * 13 % 400 : 50 };
    struct length_job job = length_job_open(yaml, &source, 1);
    free(lengths);
    return job;
}

Test(property_solver, nothing_is_lost_and_restored_planners_go_on, .timeout = 100)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct length_job job = random_job(seed, "fixed-solver", 1 + (unsigned)(seed % 3));
        struct planner *whole, *resumed;
        struct step_plan plan = { 0 }, again = { 0 };
        struct planner_state state = { 0 };
        struct error err = { 0 };
        uint64_t served = 0;
        cr_assert_eq(planner_new(job.config, job.corpus, &whole, &err), 0, "%s", err.text);
        cr_assert_eq(planner_new(job.config, job.corpus, &resumed, &err), 0);
        for (;;) {
            cr_assert_eq(planner_save(whole, &state, &err), 0);
            cr_assert_eq(planner_restore(resumed, &state, &err), 0, "%s", err.text);
            enum planner_result result = planner_step(whole, &plan, &err);
            cr_assert_neq(result, PLANNER_ERROR, "%s", err.text);
            cr_assert_eq(planner_step(resumed, &again, &err), result);
            if (result == PLANNER_END)
                break;
            cr_assert(digest_equal(plan.digest, again.digest), "seed %lu step %lu", seed,
                      plan.step);
            for (uint32_t m = 0; m < plan.microbatch_count; m++)
                cr_assert_leq(plan.microbatches[m].tokens, job.config->context_window);
            served += plan.tokens;
        }
        cr_assert_eq(served, job.corpus->tokens);
        planner_state_fini(&state);
        step_plan_fini(&plan);
        step_plan_fini(&again);
        planner_free(whole);
        planner_free(resumed);
        length_job_close(&job);
    }
}
