/* Jobs that change on their way: golden digests, who may take over from whom, blends, skips. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "config/settings.h"
#include "plan/plan.h"
#include "support/length_job.h"

#define YAML                                                                                       \
    "seed: 7\ncontext_window: 100\nparallel: { dp: 4, cp: 2, microbatches: 2 }\n"                  \
    "packing: { policy: wlb, outlier_thresholds: [40, 80] }\n"

static uint32_t lengths[50];
static struct length_source sources[] = { { "a", 1, 0, lengths, 50 }, { "b", 3, 0, lengths, 50 } };
static struct length_job job;
static struct job_ledger ledger;
static struct history *history;
static struct planner *planner;
static struct step_plan plan;

static void make(void)
{
    for (uint32_t i = 0; i < 50; i++)
        lengths[i] = 1 + i * i % 97;
    job = length_job_open(YAML, sources, 2);
    cr_assert_eq(planner_new(job.config, job.corpus, &planner, NULL), 0);
    ledger.job = planner_job_digest(planner);
    planner_free(planner);
    planner = NULL;
    cr_assert_eq(config_settings(job.config, &ledger.settings, NULL), 0);
}

static void removed(void)
{
    step_plan_fini(&plan);
    planner_free(planner);
    history_free(history);
    job_ledger_fini(&ledger);
    length_job_close(&job);
}

TestSuite(history, .init = make, .fini = removed);

static void add_reshape(uint64_t step, const char *settings)
{
    struct ledger_entry entry = { .kind = LEDGER_RESHAPE,
                                  .step = step,
                                  .settings = (char *)(size_t)settings };
    struct error err = { 0 };
    cr_assert_eq(job_ledger_append(&ledger, &entry, &err), 0, "%s", err.text);
}

static void add_skip(uint64_t step, uint64_t last)
{
    struct ledger_entry entry = { .kind = LEDGER_SKIP, .step = step, .last_step = last };
    struct error err = { 0 };
    cr_assert_eq(job_ledger_append(&ledger, &entry, &err), 0, "%s", err.text);
}

/* Again where it was open already. */
static void open_all(void)
{
    struct error err = { 0 };
    planner_free(planner);
    history_free(history);
    cr_assert_eq(history_new(job.config, &ledger, &history, &err), 0, "%s", err.text);
    cr_assert_eq(planner_open(history, job.corpus, &planner, &err), 0, "%s", err.text);
}

static void run_to(uint64_t step)
{
    struct error err = { 0 };
    while (planner_next_step(planner) <= step)
        cr_assert_eq(planner_step(planner, &plan, &err), PLANNER_STEP, "%s", err.text);
}

static void expect_digest(const char *expected)
{
    char text[DIGEST_TEXT_BYTES];
    cr_expect_str_eq(digest_text(plan.digest, text), expected, "step %lu: %s", plan.step, text);
}

/* As in test_planner.c: a digest that changes here breaks every job with a ledger. */
Test(history, golden_digests)
{
    char text[DIGEST_TEXT_BYTES];
    add_reshape(4, "parallel={dp: 2, cp: 4, microbatches: 2}\ncontext_window=64\n"
                   "packing={policy: adaptive}\nsources.a.weight=2\n");
    add_skip(6, 8);
    open_all();
    run_to(3);
    expect_digest("3e1aa9451cc6925bd264d306cdcdc9df");
    run_to(4);
    expect_digest("93aea7eec8caf7e4a8360ebfb1cb3525");
    run_to(9);
    expect_digest("8b523837d1b0de1677c321f975b4b38a");
    cr_expect_str_eq(digest_text(planner_digests(planner)[2], text),
                     "4d2ff2b7720011ba4f3a94905fd1cc83");
}

Test(history, steps_before_a_change_are_what_they_were)
{
    open_all();
    run_to(3);
    struct digest expected = plan.digest, job_digest = planner_job_digest(planner);
    add_reshape(4, "context_window=64\n");
    add_skip(4, 4);
    open_all();
    run_to(3);
    cr_assert(digest_equal(plan.digest, expected));
    cr_assert(digest_equal(planner_job_digest(planner), job_digest));
    run_to(4);
    cr_assert_eq(plan.microbatch_count, 8);
}

/* The same plans from step 4 on, but for an entry that changes nothing: another order all the same.
 */
Test(history, every_entry_enters_the_digests)
{
    open_all();
    run_to(4);
    struct digest without = plan.digest;
    add_reshape(4, ledger.settings);
    open_all();
    run_to(4);
    cr_assert(!digest_equal(plan.digest, without));
    cr_assert(!digest_equal(planner_digests(planner)[0], planner_digests(planner)[1]));
}

Test(history, either_configuration_opens_the_job)
{
    struct error err = { 0 };
    add_reshape(4, "context_window=64\nsources.a.weight=2\n");
    open_all();
    run_to(9);
    struct digest expected = plan.digest;
    struct config *newest;
    struct history *other;
    struct planner *its;
    cr_assert_eq(config_with_settings(job.config, ledger.entries[0].settings, &newest, &err), 0);
    cr_assert_eq(history_new(newest, &ledger, &other, &err), 0, "%s", err.text);
    cr_assert_eq(planner_open(other, job.corpus, &its, &err), 0, "%s", err.text);
    for (int step = 0; step < 10; step++)
        cr_assert_eq(planner_step(its, &plan, &err), PLANNER_STEP);
    cr_assert(digest_equal(plan.digest, expected));
    planner_free(its);
    history_free(other);
    config_free(newest);
}

Test(history, a_ledger_of_another_job_is_refused)
{
    struct error err = { 0 };
    add_skip(1, 1);
    ledger.job.bytes[0] ^= 1;
    cr_assert_eq(history_new(job.config, &ledger, &history, &err), 0);
    cr_assert_eq(planner_open(history, job.corpus, &planner, &err), EX_DATAERR);
    cr_assert(strstr(err.text, "the ledger is of the job"), "%s", err.text);
}

static double share_of_a(uint64_t from, uint64_t to)
{
    run_to(from);
    uint64_t a = planner_cursors(planner)[0].tokens, b = planner_cursors(planner)[1].tokens;
    run_to(to);
    a = planner_cursors(planner)[0].tokens - a;
    b = planner_cursors(planner)[1].tokens - b;
    return (double)a / (double)(a + b);
}

/* From there on, not until the whole job has the new shares. */
Test(history, new_weights_hold_from_their_step_on)
{
    add_reshape(400, "sources.a.weight=9\nsources.b.weight=1\n");
    open_all();
    double before = share_of_a(0, 399), after = share_of_a(399, 420);
    cr_expect_float_eq(before, 0.25, 0.01, "%g", before);
    cr_expect_float_eq(after, 0.9, 0.02, "%g", after);
}

static uint64_t left_out_tokens;

static void count(void *context, uint64_t step, const struct packing *packing)
{
    (void)context;
    cr_assert_eq(step, 5);
    left_out_tokens += packing->tokens;
}

/* Steps 5 to 7 are left out: step 5 is then what step 8 would have been, and so on. */
Test(history, skipped_steps_are_filled_with_what_follows)
{
    open_all();
    uint64_t expected = 0;
    struct step_plan eighth = { 0 };
    run_to(4);
    while (planner_next_step(planner) <= 7) {
        run_to(planner_next_step(planner));
        expected += plan.tokens;
    }
    run_to(8);
    eighth = plan;
    plan = (struct step_plan){ 0 };
    add_skip(5, 7);
    open_all();
    planner_watch_left_out(planner, count, NULL);
    run_to(5);
    cr_assert_eq(left_out_tokens, expected);
    cr_assert_eq(plan.step, 5);
    cr_assert_eq(plan.piece_count, eighth.piece_count);
    for (size_t i = 0; i < plan.piece_count; i++) {
        cr_assert_eq(plan.pieces[i].document, eighth.pieces[i].document);
        cr_assert_eq(plan.pieces[i].source, eighth.pieces[i].source);
        cr_assert_leq(plan.pieces[i].arrived, 5);
    }
    step_plan_fini(&eighth);
}

Test(history, the_end_of_data_may_lie_in_a_skip)
{
    length_job_close(&job);
    sources[0].epochs = sources[1].epochs = 1;
    job = length_job_open(YAML, sources, 2);
    cr_assert_eq(planner_new(job.config, job.corpus, &planner, NULL), 0);
    ledger.job = planner_job_digest(planner);
    add_skip(2, 4000);
    open_all();
    run_to(1);
    cr_assert_eq(planner_step(planner, &plan, NULL), PLANNER_END);
    cr_assert_eq(planner_step(planner, &plan, NULL), PLANNER_END);
}
