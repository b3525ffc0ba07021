#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "support/length_job.h"

static struct planner *open_planner(const struct length_job *job)
{
    struct planner *planner;
    struct error err = { 0 };
    cr_assert_eq(planner_new(job->config, job->corpus, &planner, &err), 0, "%s", err.text);
    return planner;
}

static void expect_step(struct planner *planner, struct step_plan *plan)
{
    struct error err = { 0 };
    cr_assert_eq(planner_step(planner, plan, &err), PLANNER_STEP, "%s", err.text);
}

/* The order of data is a promise: a digest that changes here breaks every checkpoint out there. */
Test(planner, golden_digests)
{
    uint32_t lengths[50];
    for (uint32_t i = 0; i < 50; i++)
        lengths[i] = 1 + i * i % 97;
    struct length_source source = { "golden", 1, 0, lengths, 50 };
    const struct {
        const char *yaml, *job, *step0, *step9;
    } cases[] = {
        { "seed: 7\ncontext_window: 100\nmax_sequence_length: 200\n"
          "parallel: { dp: 2, cp: 2, microbatches: 2 }\n"
          "packing: { policy: wlb, outlier_thresholds: [40, 80] }",
          "d71d65205d9467f504eca4506a369bdc", "10f0ee2a8b347624a08114a9b1baa1dd",
          "c81b06e9068cb681e818ba71002da750" },
        { "seed: 7\ncontext_window: 100\nparallel: { dp: 2, cp: 2, microbatches: 2 }\n"
          "packing: { policy: plain }\nsharding: { strategy: per-sequence }",
          "011dad66ffd166980cf5c442eb2ebe80", "f908f163b6728384cf48025002e520aa",
          "20d01874318145776b3f976660b395cb" },
        { "seed: 7\ncontext_window: 100\nparallel: { dp: 2, cp: 4, microbatches: 2 }\n"
          "packing: { policy: fixed-greedy, window: 2 }\nsharding: { strategy: per-document }",
          "8f623b17ba4c7b2d5430dae8cf20bf7f", "59e0f01b8d80390d198bb4745137f2e4",
          "243855576e00aa2754f1c52679d1bd44" },
        { "seed: 7\ncontext_window: 100\nparallel: { dp: 2, cp: 2, microbatches: 2 }\n"
          "packing: { policy: adaptive }\nsharding: { strategy: hybrid }",
          "3b0cc9a8231317b1137dbbf7a3ccaddf", "41110c532aa24240fff6d73feaa7925d",
          "f37e03a5058e18d29e497eae20e9bb25" },
        { "seed: 7\ncontext_window: 100\nmax_sequence_length: 150\n"
          "parallel: { dp: 2, pp: 2, microbatches: 2 }\n"
          "packing: { policy: adaptive, balance: 0.8, max_delay: 3, objective: step-time }",
          "3fe261b70885bca1a6649cd804a31250", "4be94ab9966446e0da07c5c6ad8f441a",
          "bbc9867f69f05211bfbe1441a9422502" },
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct length_job job = length_job_open(cases[c].yaml, &source, 1);
        struct planner *planner = open_planner(&job);
        struct step_plan plan = { 0 };
        char text[DIGEST_TEXT_BYTES];
        cr_expect_str_eq(digest_text(planner_job_digest(planner), text), cases[c].job,
                         "case %zu job %s", c, text);
        for (int step = 0; step < 10; step++) {
            expect_step(planner, &plan);
            if (step == 0)
                cr_expect_str_eq(digest_text(plan.digest, text), cases[c].step0,
                                 "case %zu step 0 %s", c, text);
        }
        cr_expect_str_eq(digest_text(plan.digest, text), cases[c].step9, "case %zu step 9 %s", c,
                         text);
        step_plan_fini(&plan);
        planner_free(planner);
        length_job_close(&job);
    }
}

Test(planner, digest_depends_on_seed_configuration_and_corpus)
{
    uint32_t a[] = { 10, 20, 30 }, b[] = { 10, 20, 31 };
    struct length_source sources[] = { { "s", 1, 0, a, 3 }, { "s", 1, 0, b, 3 } };
    const char *yaml[] = { "seed: 1\ncontext_window: 50", "seed: 2\ncontext_window: 50",
                           "seed: 1\ncontext_window: 50\nsharding: { tile: 64 }" };
    struct digest digests[4];
    for (int i = 0; i < 4; i++) {
        struct length_job job = length_job_open(yaml[i % 3], &sources[i / 3], 1);
        struct planner *planner = open_planner(&job);
        digests[i] = planner_job_digest(planner);
        for (int j = 0; j < i; j++)
            cr_assert(!digest_equal(digests[i], digests[j]), "%d and %d", i, j);
        planner_free(planner);
        length_job_close(&job);
    }
}

Test(planner, last_step_is_served_or_dropped)
{
    uint32_t lengths[] = { 10, 10, 10, 10, 10 };
    struct length_source source = { "s", 1, 1, lengths, 5 };
    const char *yaml[] = { "context_window: 20\nlast_step: serve\npacking: { policy: plain }",
                           "context_window: 20\nlast_step: drop\npacking: { policy: plain }" };
    for (int drop = 0; drop < 2; drop++) {
        struct length_job job = length_job_open(yaml[drop], &source, 1);
        struct planner *planner = open_planner(&job);
        struct step_plan plan = { 0 };
        expect_step(planner, &plan);
        expect_step(planner, &plan);
        cr_assert_eq(plan.tokens, 20);
        if (!drop) {
            expect_step(planner, &plan);
            cr_assert_eq(plan.tokens, 10);
        }
        cr_assert_eq(planner_step(planner, &plan, NULL), PLANNER_END);
        cr_assert_eq(planner_step(planner, &plan, NULL), PLANNER_END);
        struct planner_state state = { 0 };
        cr_assert_eq(planner_save(planner, &state, NULL), 0);
        cr_assert_eq(state.dropped_tokens, drop ? 10u : 0u);
        cr_assert_eq(state.dropped_pieces, drop ? 1u : 0u);
        planner_state_fini(&state);
        step_plan_fini(&plan);
        planner_free(planner);
        length_job_close(&job);
    }
}

/* A full last step is no short one, and what waits in queues is served before the end. */
Test(planner, end_of_data_releases_outliers)
{
    uint32_t lengths[] = { 90, 10, 10, 10, 70, 10 };
    struct length_source source = { "s", 1, 1, lengths, 6 };
    struct length_job job = length_job_open(
        "context_window: 100\nmax_sequence_length: 200\nlast_step: serve\n"
        "parallel: { microbatches: 4 }\npacking: { policy: wlb, outlier_thresholds: [50] }",
        &source, 1);
    struct planner *planner = open_planner(&job);
    struct step_plan plan = { 0 };
    uint64_t tokens = 0;
    enum planner_result result;
    while ((result = planner_step(planner, &plan, NULL)) == PLANNER_STEP)
        tokens += plan.tokens;
    cr_assert_eq(result, PLANNER_END);
    cr_assert_eq(tokens, 200);
    step_plan_fini(&plan);
    planner_free(planner);
    length_job_close(&job);
}

Test(planner, loss_tokens_leave_out_document_ends)
{
    uint32_t lengths[] = { 25 };
    struct length_source source = { "s", 1, 1, lengths, 1 };
    struct length_job job =
        length_job_open("context_window: 10\nlast_step: serve\nparallel: { microbatches: 3 }\n"
                        "packing: { policy: plain }",
                        &source, 1);
    struct planner *planner = open_planner(&job);
    struct step_plan plan = { 0 };
    expect_step(planner, &plan);
    cr_assert_eq(plan.tokens, 25);
    cr_assert_eq(plan.loss_tokens, 24);
    cr_assert_eq(plan.microbatches[0].loss_tokens, 10, "a cut piece's last token has a label");
    cr_assert_eq(plan.microbatches[2].loss_tokens, 4);
    step_plan_fini(&plan);
    planner_free(planner);
    length_job_close(&job);
}

Test(planner, overflowing_workload_is_refused)
{
    uint32_t lengths[] = { 25 };
    struct length_source source = { "s", 1, 1, lengths, 1 };
    struct length_job job = length_job_open("context_window: 67108864", &source, 1);
    job.config->cost.crossover_tokens = 1;
    job.config->context_window = job.config->max_sequence_length = UINT32_MAX;
    struct planner *planner = NULL;
    struct error err = { 0 };
    cr_assert_eq(planner_new(job.config, job.corpus, &planner, &err), EX_CONFIG);
    cr_assert(strstr(err.text, "overflows"), "%s", err.text);
    cr_assert_null(planner);
    length_job_close(&job);
}
