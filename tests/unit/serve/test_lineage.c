/* The ledger as the server sees it: which digest a step has, who may ask for it, what is overruled.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "config/settings.h"
#include "serve/lineage.h"
#include "support/length_job.h"

static uint32_t lengths[] = { 10, 20, 30 };
static struct length_source source = { "s", 1, 0, lengths, 3 };
static struct length_job job;
static struct planner *planner;
static struct lineage *lineage;

/* Other weights at 5, a skip at 10, another layout at 20, one more skip there. */
static void make(void)
{
    struct job_ledger ledger = { 0 };
    struct history *history;
    struct error err = { 0 };
    job = length_job_open("context_window: 64\nparallel: { dp: 2 }", &source, 1);
    cr_assert_eq(planner_new(job.config, job.corpus, &planner, &err), 0);
    ledger.job = planner_job_digest(planner);
    planner_free(planner);
    cr_assert_eq(config_settings(job.config, &ledger.settings, &err), 0);
    const struct ledger_entry entries[] = {
        { .kind = LEDGER_RESHAPE,
          .step = 5,
          .settings = (char *)(size_t) "packing={policy: adaptive}\n" },
        { .kind = LEDGER_SKIP, .step = 10, .last_step = 12 },
        { .kind = LEDGER_RESHAPE, .step = 20, .settings = (char *)(size_t) "parallel={dp: 4}\n" },
        { .kind = LEDGER_SKIP, .step = 20, .last_step = 20 },
    };
    for (int i = 0; i < 4; i++)
        cr_assert_eq(job_ledger_append(&ledger, &entries[i], &err), 0);
    cr_assert_eq(history_new(job.config, &ledger, &history, &err), 0, "%s", err.text);
    cr_assert_eq(planner_open(history, job.corpus, &planner, &err), 0, "%s", err.text);
    cr_assert_eq(lineage_new(history, planner, NULL, &lineage, &err), 0);
    job_ledger_fini(&ledger);
}

static void removed(void)
{
    planner_free(planner);
    lineage_free(lineage);
    length_job_close(&job);
}

TestSuite(lineage, .init = make, .fini = removed);

static void expect_digest(struct digest digest, size_t entries)
{
    cr_assert(digest_equal(digest, lineage->digests[entries]));
}

Test(lineage, a_step_has_the_entries_up_to_it_and_a_state_those_before)
{
    expect_digest(lineage_digest(lineage, 4), 0);
    expect_digest(lineage_digest(lineage, 5), 1);
    expect_digest(lineage_digest(lineage, 9), 1);
    expect_digest(lineage_digest(lineage, 10), 2);
    expect_digest(lineage_digest(lineage, 20), 4);
    expect_digest(lineage_digest(lineage, UINT64_MAX), 4);
    expect_digest(lineage_before(lineage, 5), 0);
    expect_digest(lineage_before(lineage, 6), 1);
    expect_digest(lineage_before(lineage, 20), 2);
    expect_digest(lineage_before(lineage, 21), 4);
}

Test(lineage, knows_its_digests_and_no_others)
{
    const struct config *told = NULL;
    const size_t expected[] = { 0, 1, 1, 2, 2 };
    for (size_t i = 0; i < 5; i++) {
        cr_assert(lineage_knows(lineage, lineage->digests[i], &told));
        cr_assert_eq(told, lineage->history->epochs[expected[i]].config);
    }
    cr_assert_not(lineage_knows(lineage, (struct digest){ { 1 } }, &told));
}

Test(lineage, a_layout_outlives_what_does_not_change_it)
{
    uint64_t until;
    char text[256];
    cr_assert_eq(lineage_layout(lineage, 12, &until), 0);
    cr_assert_eq(until, 20);
    cr_assert_eq(lineage_layout(lineage, 20, &until), 20);
    cr_assert_eq(until, 0);
    lineage_layout_text(lineage, 3, text, sizeof text);
    cr_assert_str_eq(text,
                     "steps 0 to 19 have dp 2, cp 1, 1 micro-batches a replica, context window "
                     "64, at most 128 tokens a micro-batch");
    lineage_layout_text(lineage, 99, text, sizeof text);
    cr_assert(strstr(text, "steps 20 to the last have dp 4"), "%s", text);
}

Test(lineage, overrules_what_was_planned_without_an_entry)
{
    const struct digest *digests = lineage->digests;
    cr_assert(lineage_overrules(lineage, digests[0], 5));
    cr_assert_not(lineage_overrules(lineage, digests[0], 4));
    cr_assert(lineage_overrules(lineage, digests[1], 10));
    cr_assert_not(lineage_overrules(lineage, digests[1], 9));
    cr_assert_not(lineage_overrules(lineage, digests[4], 1000));
}

Test(lineage, memory_follows_the_largest_layout)
{
    uint32_t sequence, microbatches;
    lineage_extremes(lineage, &sequence, &microbatches);
    cr_assert_eq(sequence, 128);
    cr_assert_eq(microbatches, 4);
}
