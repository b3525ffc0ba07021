/* A shard that the ledger drops: none of it is served from that step on, and all else is. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "config/settings.h"
#include "plan/plan.h"
#include "support/length_job.h"

#define COUNT 60
#define SHARDS 3
#define DROPPED 1 /* the documents COUNT / 3 up to COUNT * 2 / 3 of source b */
#define STEP 3

static uint32_t lengths[COUNT];
static const struct length_source sources[] = { { "a", 1, 1, lengths, COUNT },
                                                { "b", 1, 1, lengths, COUNT } };
static struct length_job job;
static struct job_ledger ledger;
static struct history *history;
static struct planner *planner;
static struct step_plan plan;

static void make(const char *policy)
{
    char yaml[256];
    for (uint32_t i = 0; i < COUNT; i++)
        lengths[i] = 1 + i * i % 250;
    snprintf(yaml, sizeof yaml,
             "seed: 7\ncontext_window: 100\nlast_step: serve\n"
             "parallel: { dp: 2, cp: 2, microbatches: 2 }\npacking: %s\n",
             policy);
    job = length_job_open_sharded(yaml, sources, 2, SHARDS);
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
    plan = (struct step_plan){ 0 };
    planner = NULL;
    history = NULL;
    job_ledger_fini(&ledger);
    length_job_close(&job);
}

TestSuite(dropped_shards, .fini = removed);

static void add_drop(uint64_t step, const char *source, uint32_t shard, const char *name)
{
    struct ledger_entry drop = { .kind = LEDGER_DROP,
                                 .step = step,
                                 .source = (char *)(size_t)source,
                                 .shard = shard,
                                 .shard_name = (char *)(size_t)name };
    cr_assert_eq(job_ledger_append(&ledger, &drop, NULL), 0);
}

/* Again where it was open already. */
static int open_all(struct error *err)
{
    planner_free(planner);
    history_free(history);
    planner = NULL;
    cr_assert_eq(history_new(job.config, &ledger, &history, err), 0, "%s", err->text);
    return planner_open(history, job.corpus, &planner, err);
}

static bool is_of_shard(const struct piece *piece)
{
    return piece->source == 1 && piece->document >= COUNT / 3 && piece->document < COUNT * 2 / 3;
}

/* Runs to the end; tokens of the shard and others that were served from STEP on. */
static void run(uint64_t *ret_of_shard, uint64_t *ret_others, struct digest *ret_before)
{
    struct error err = { 0 };
    enum planner_result result;
    *ret_of_shard = *ret_others = 0;
    while ((result = planner_step(planner, &plan, &err)) == PLANNER_STEP) {
        if (plan.step == STEP - 1)
            *ret_before = plan.digest;
        for (size_t i = 0; i < plan.piece_count && plan.step >= STEP; i++)
            *(is_of_shard(&plan.pieces[i]) ? ret_of_shard : ret_others) += plan.pieces[i].length;
    }
    cr_assert_eq(result, PLANNER_END, "%s", err.text);
}

static const char *const policies[] = {
    "{ policy: plain }",
    "{ policy: fixed-greedy, window: 2 }",
    "{ policy: wlb, outlier_thresholds: [40, 80] }",
    "{ policy: adaptive, max_delay: 8 }",
};

Test(dropped_shards, none_of_it_comes_and_all_else_does)
{
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        struct error err = { 0 };
        uint64_t of_shard, others, other_before;
        struct digest before, now;
        make(policies[i]);
        cr_assert_eq(open_all(&err), 0, "%s", err.text);
        run(&of_shard, &others, &before);
        cr_assert_gt(of_shard, 0, "%s: else the case shows nothing", policies[i]);
        other_before = others;
        add_drop(STEP, "b", DROPPED, "b-1");
        cr_assert_eq(open_all(&err), 0, "%s", err.text);
        run(&of_shard, &others, &now);
        cr_expect_eq(of_shard, 0, "%s", policies[i]);
        cr_expect_eq(others, other_before, "%s", policies[i]);
        cr_expect(digest_equal(before, now), "steps before are what they were");
        if (i + 1 < sizeof policies / sizeof *policies)
            removed();
    }
}

/* A digest that changes here breaks every job that goes on without a shard. */
Test(dropped_shards, golden_digests)
{
    char text[DIGEST_TEXT_BYTES];
    struct error err = { 0 };
    make(policies[2]);
    add_drop(STEP, "b", DROPPED, "b-1");
    cr_assert_eq(open_all(&err), 0, "%s", err.text);
    while (planner_next_step(planner) <= STEP + 2)
        cr_assert_eq(planner_step(planner, &plan, &err), PLANNER_STEP, "%s", err.text);
    cr_expect_str_eq(digest_text(plan.digest, text), "74f2e55c2e677f988676d4cc6b01aa9c");
    cr_expect_str_eq(digest_text(planner_digests(planner)[1], text),
                     "ce7fa2ba92479a7c6a211971f56af903");
}

/* The streams of the epoch that a reshape begins go without it too. */
Test(dropped_shards, stays_dropped_over_a_reshape)
{
    struct error err = { 0 };
    uint64_t of_shard, others;
    struct digest before;
    struct ledger_entry reshape = {
        .kind = LEDGER_RESHAPE,
        .step = STEP + 2,
        .settings = (char *)(size_t) "packing={policy: adaptive}\ncontext_window=50\n"
    };
    make(policies[2]);
    add_drop(STEP, "b", DROPPED, "b-1");
    cr_assert_eq(job_ledger_append(&ledger, &reshape, NULL), 0);
    cr_assert_eq(open_all(&err), 0, "%s", err.text);
    run(&of_shard, &others, &before);
    cr_assert_eq(of_shard, 0);
}

static void expect_refused(const char *source, uint32_t shard, const char *name, const char *why)
{
    struct error err = { 0 };
    make(policies[0]);
    add_drop(STEP, source, shard, name);
    cr_assert_eq(open_all(&err), EX_DATAERR);
    cr_assert(strstr(err.text, "the ledger, from step 3 on"), "%s", err.text);
    cr_assert(strstr(err.text, why), "%s", err.text);
}

Test(dropped_shards, must_be_there_under_their_name_1)
{
    expect_refused("c", 0, "b-0", "there is no such source");
}

Test(dropped_shards, must_be_there_under_their_name_2)
{
    expect_refused("b", SHARDS, "b-3", "it has 3, counted from 0");
}

Test(dropped_shards, must_be_there_under_their_name_3)
{
    expect_refused("b", 1, "b-0", "its name is b-1");
}

Test(dropped_shards, something_must_be_left_of_the_source)
{
    make(policies[0]);
    add_drop(STEP, "b", 0, "b-0");
    add_drop(STEP, "b", 1, "b-1");
    add_drop(STEP + 1, "b", 1, "b-1"); /* again: no change */
    struct error err = { 0 };
    cr_assert_eq(open_all(&err), 0, "%s", err.text);
    add_drop(STEP + 1, "b", 2, "b-2");
    cr_assert_eq(open_all(&err), EX_DATAERR);
    cr_assert(strstr(err.text, "source b: without the shard b-2 nothing of it is left"), "%s",
              err.text);
}
