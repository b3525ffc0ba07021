/* No micro-batch is over S_max, whatever the policy. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "plan/plan.h"
#include "support/length_job.h"

static void expect_caps(const char *policy, const uint32_t *lengths, size_t count, uint32_t cap)
{
    char yaml[256];
    snprintf(yaml, sizeof yaml,
             "parallel: { dp: 1, cp: 1, microbatches: 4 }\ncontext_window: %u\n"
             "max_sequence_length: %u\nlast_step: serve\npacking: { policy: %s }",
             cap, cap, policy);
    struct length_source source = { "a", 1, 1, lengths, count };
    struct length_job job = length_job_open(yaml, &source, 1);
    struct planner *planner;
    struct step_plan plan = { 0 };
    struct error err = { 0 };
    cr_assert_eq(planner_new(job.config, job.corpus, &planner, &err), 0, "%s", err.text);
    uint64_t tokens = 0, expected = 0;
    enum planner_result result;
    while ((result = planner_step(planner, &plan, &err)) == PLANNER_STEP)
        for (uint32_t m = 0; m < plan.microbatch_count; m++) {
            cr_assert_leq(plan.microbatches[m].tokens, cap, "%s", policy);
            tokens += plan.microbatches[m].tokens;
        }
    cr_assert_eq(result, PLANNER_END, "%s: %s", policy, err.text);
    for (size_t i = 0; i < count; i++)
        expected += lengths[i];
    cr_assert_eq(tokens, expected, "%s", policy);
    step_plan_fini(&plan);
    planner_free(planner);
    length_job_close(&job);
}

Test(caps, sevens_never_make_fourteen_of_eight)
{
    static const uint32_t lengths[] = { 7, 7, 7, 7, 7, 7, 7, 7 };
    for (const struct pack_policy *const *policy = pack_policies; *policy; policy++)
        if (!(*policy)->study_only)
            expect_caps((*policy)->name, lengths, 8, 8);
}

Test(caps, whole_windows_fill_whole_microbatches)
{
    static const uint32_t lengths[] = { 8, 8, 1, 8, 8, 7, 8, 8 };
    for (const struct pack_policy *const *policy = pack_policies; *policy; policy++)
        if (!(*policy)->study_only)
            expect_caps((*policy)->name, lengths, 8, 8);
}
