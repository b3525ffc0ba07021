/* Where a document is: the same as reading all plans says, from wherever the search begins. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "config/settings.h"
#include "plan/where.h"
#include "support/length_job.h"

#define DOCUMENTS 60
#define STEPS 24
#define MOST_RUNS 4096

/* What a plain run met of one document. */
struct run {
    enum where_kind kind;
    uint64_t step, offset;
    uint32_t microbatch, length;
    size_t source;
    uint64_t document;
};

static uint32_t *lengths;
static struct length_job job;
static struct history *history;
static struct run runs[MOST_RUNS];
static size_t run_count;
static uint64_t last_step;

static void add(enum where_kind kind, uint64_t step, uint32_t microbatch, const struct piece *piece)
{
    cr_assert_lt(run_count, MOST_RUNS);
    runs[run_count++] = (struct run){ kind,          step,          piece->offset,  microbatch,
                                      piece->length, piece->source, piece->document };
}

static void left_out(void *context, uint64_t step, const struct packing *packing)
{
    (void)context;
    for (size_t i = 0; i < packing->piece_count; i++)
        add(WHERE_LEFT_OUT, step, 0, &packing->pieces[i]);
}

static void read_all(struct planner *planner)
{
    struct step_plan plan = { 0 };
    planner_watch_left_out(planner, left_out, NULL);
    while (planner_step(planner, &plan, NULL) == PLANNER_STEP)
        for (uint32_t m = 0; m < plan.microbatch_count; m++)
            for (uint32_t i = 0; i < plan.microbatches[m].piece_count; i++)
                add(WHERE_SERVED, plan.step, m, &plan.pieces[plan.microbatches[m].first_piece + i]);
    planner_watch_left_out(planner, NULL, NULL);
    last_step = planner_next_step(planner);
    step_plan_fini(&plan);
}

static struct planner *open_planner(void)
{
    struct planner *planner;
    struct error err = { 0 };
    cr_assert_eq(planner_open(history, job.corpus, &planner, &err), 0, "%s", err.text);
    return planner;
}

static void make(void)
{
    struct job_ledger ledger = { 0 };
    lengths = heavy_tailed_lengths(3, (size_t)2 * DOCUMENTS, 150);
    lengths[7] = 0;
    struct length_source sources[] = { { "a", 1, 1, lengths, DOCUMENTS },
                                       { "b", 2, 1, lengths + DOCUMENTS, DOCUMENTS } };
    job = length_job_open("seed: 4\ncontext_window: 64\nparallel: { dp: 2, cp: 2 }\n"
                          "packing: { policy: wlb, outlier_thresholds: [20, 40] }\n"
                          "last_step: serve\n",
                          sources, 2);
    struct planner *planner;
    cr_assert_eq(planner_new(job.config, job.corpus, &planner, NULL), 0);
    ledger.job = planner_job_digest(planner);
    planner_free(planner);
    cr_assert_eq(config_settings(job.config, &ledger.settings, NULL), 0);
    const struct ledger_entry entries[] = {
        { .kind = LEDGER_SKIP, .step = 4, .last_step = 5 },
        { .kind = LEDGER_RESHAPE,
          .step = 8,
          .settings =
              (char *)(size_t) "parallel={dp: 3, cp: 4}\ncontext_window=50\npacking={policy: "
                               "fixed-greedy, window: 2}\n" },
    };
    for (int i = 0; i < 2; i++)
        cr_assert_eq(job_ledger_append(&ledger, &entries[i], NULL), 0);
    cr_assert_eq(history_new(job.config, &ledger, &history, NULL), 0);
    job_ledger_fini(&ledger);
    planner = open_planner();
    read_all(planner);
    planner_free(planner);
}

static void removed(void)
{
    history_free(history);
    length_job_close(&job);
    free(lengths);
}

TestSuite(where, .init = make, .fini = removed);

static void expect_places(const struct where *where)
{
    size_t at = 0;
    for (size_t i = 0; i < run_count; i++) {
        const struct run *run = &runs[i];
        if (run->source != where->source || run->document != where->document)
            continue;
        cr_assert_lt(at, where->count, "document %lu", where->document);
        const struct where_place *place = &where->places[at++];
        cr_assert_eq(place->kind, run->kind);
        cr_assert_eq(place->step, run->step);
        cr_assert_eq(place->offset, run->offset);
        cr_assert_eq(place->length, run->length);
        cr_assert_eq(place->microbatch, run->microbatch);
        cr_assert_eq(place->rank_count > 0, run->kind == WHERE_SERVED);
    }
    cr_assert_eq(at, where->count, "document %lu", where->document);
    cr_assert_eq(where->met, where->tokens);
}

static enum where_result search(struct where *where, struct planner *planner, uint64_t to)
{
    struct step_plan plan = { 0 };
    struct error err = { 0 };
    enum where_result result = WHERE_MORE;
    while (result == WHERE_MORE && planner_next_step(planner) <= to)
        result = where_step(where, planner, &plan, &err);
    cr_assert_neq(result, WHERE_ERROR, "%s", err.text);
    step_plan_fini(&plan);
    return result;
}

Test(where, every_document_is_found_where_it_is)
{
    static const char *const names[] = { "a", "b" };
    for (size_t source = 0; source < 2; source++) {
        for (uint64_t document = 0; document < DOCUMENTS; document++) {
            struct planner *planner = open_planner();
            struct where where = { 0 };
            struct error err = { 0 };
            cr_assert_eq(where_begin(&where, planner, job.corpus, names[source], document, 0, &err),
                         0, "%s", err.text);
            cr_assert_eq(search(&where, planner, UINT64_MAX), WHERE_DONE);
            cr_assert_leq(planner_next_step(planner), last_step);
            expect_places(&where);
            where_fini(&where);
            planner_free(planner);
        }
    }
}

Test(where, a_search_may_start_from_any_state_before_the_document)
{
    struct planner *planner = open_planner();
    struct planner_state states[STEPS] = { { 0 } };
    struct step_plan plan = { 0 };
    size_t count = 0, starts = 0;
    for (; count < STEPS && planner_next_step(planner) == count; count++) {
        cr_assert_eq(planner_save(planner, &states[count], NULL), 0);
        planner_step(planner, &plan, NULL);
    }
    for (uint64_t document = 0; document < DOCUMENTS; document += 7) {
        for (size_t i = 0; i < count; i++) {
            struct where where = { 0 };
            cr_assert_eq(where_begin(&where, planner, job.corpus, "b", document, 0, NULL), 0);
            if (where_may_start(&where, states[i].cursors)) {
                starts++;
                cr_assert_eq(planner_restore(planner, &states[i], NULL), 0);
                cr_assert_eq(search(&where, planner, UINT64_MAX), WHERE_DONE);
                expect_places(&where);
            }
            where_fini(&where);
        }
    }
    cr_assert_gt(starts, 20);
    for (size_t i = 0; i < count; i++)
        planner_state_fini(&states[i]);
    step_plan_fini(&plan);
    planner_free(planner);
}

Test(where, what_waits_is_said_when_the_search_ends_early)
{
    struct planner *planner = open_planner();
    struct planner_state state = { 0 };
    struct step_plan plan = { 0 };
    while (state.waiting_count == 0) {
        cr_assert_eq(planner_step(planner, &plan, NULL), PLANNER_STEP);
        cr_assert_eq(planner_save(planner, &state, NULL), 0);
    }
    struct piece piece = state.waiting[0].piece;
    struct planner *again = open_planner();
    struct where where = { 0 };
    cr_assert_eq(
        where_begin(&where, again, job.corpus, piece.source ? "b" : "a", piece.document, 0, NULL),
        0);
    cr_assert_eq(search(&where, again, state.next_step - 1), WHERE_MORE);
    cr_assert_eq(where_stop(&where, again, NULL), 0);
    const struct where_place *place = &where.places[where.count - 1];
    cr_assert_eq(place->kind, WHERE_WAITING);
    cr_assert_eq(place->step, state.next_step);
    char *text;
    cr_assert_eq(where_json(&where, again, job.corpus, &text, NULL), 0);
    json_t *object = json_loads(text, 0, NULL);
    cr_assert_eq((uint64_t)json_integer_value(json_object_get(object, "document")), piece.document);
    cr_assert(strstr(text, "\"state\":\"waiting\""), "%s", text);
    json_decref(object);
    free(text);
    where_fini(&where);
    planner_state_fini(&state);
    step_plan_fini(&plan);
    planner_free(again);
    planner_free(planner);
}

Test(where, an_empty_document_is_nowhere)
{
    struct planner *planner = open_planner();
    struct where where = { 0 };
    cr_assert_eq(where_begin(&where, planner, job.corpus, "a", 7, 0, NULL), 0);
    cr_assert_eq(search(&where, planner, UINT64_MAX), WHERE_DONE);
    cr_assert_eq(where.count, 0);
    where_fini(&where);
    planner_free(planner);
}

Test(where, what_the_corpus_does_not_have_is_refused)
{
    struct planner *planner = open_planner();
    struct where where = { 0 };
    struct error err = { 0 };
    cr_assert_eq(where_begin(&where, planner, job.corpus, "c", 0, 0, &err), EX_USAGE);
    cr_assert_eq(where_begin(&where, planner, job.corpus, "a", DOCUMENTS, 0, &err), EX_USAGE);
    cr_assert(strstr(err.text, "60 documents"), "%s", err.text);
    cr_assert_eq(where_begin(&where, planner, job.corpus, "a", 0, 1, &err), EX_USAGE);
    where_fini(&where);
    planner_free(planner);
}
