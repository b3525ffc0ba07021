/*
 * Over random corpora, layouts, policies and shardings: nothing is lost or repeated, caps hold,
 * every token is on one rank, and plans are the same from any saved state; also where a ledger puts
 * other layouts, windows, policies and weights in force on the way, leaves steps out, or drops
 * shards.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/permutation.h"
#include "config/settings.h"
#include "plan/plan.h"
#include "support/ledger.h"
#include "support/length_job.h"

struct draw {
    uint64_t seed, count;
};

static uint32_t draw(struct draw *from, uint32_t least, uint32_t most)
{
    return least + (uint32_t)(mix_keys(from->seed, from->count++) % (most - least + 1));
}

static const char *pick(struct draw *from, const char *const *names, uint32_t count)
{
    return names[draw(from, 0, count - 1)];
}

#define SHARDS 3
#define MOST_YAML 8192
#define MOST_SETTINGS 1024

/* All that a reshape may change but weights; `is` stands between key and value. */
static void random_settings(struct draw *from, const char *is, char text[MOST_SETTINGS])
{
    static const char *const policies[] = { "plain", "fixed-greedy", "wlb", "adaptive" };
    static const char *const strategies[] = { "per-sequence", "per-document", "adaptive",
                                              "hybrid" };
    static const char *const longs[] = { "split", "split", "truncate", "drop" };
    static const char *const lasts[] = { "serve", "serve", "drop" };
    uint32_t window = draw(from, 1, 400);
    uint32_t most = window + draw(from, 0, 2) * window / 2;
    uint32_t low = draw(from, 1, window), high = low + draw(from, 1, window);
    char thresholds[64];
    if (draw(from, 0, 1))
        snprintf(thresholds, sizeof thresholds, "[%u, %u]", low, high);
    else
        snprintf(thresholds, sizeof thresholds, "[%u]", low);
    snprintf(text, MOST_SETTINGS,
             "context_window%s%u\nmax_sequence_length%s%u\nlong_documents%s%s\nlast_step%s%s\n"
             "parallel%s{ dp: %u, cp: %u, microbatches: %u }\n"
             "packing%s{ policy: %s, window: %u, outlier_thresholds: %s, max_waiting_steps: %u, "
             "balance: 0.%u, max_delay: %u }\n"
             "sharding%s{ strategy: %s, tile: %u, pad_to_multiple: %u }\n",
             is, window, is, most, is, pick(from, longs, 4), is, pick(from, lasts, 3), is,
             draw(from, 1, 3), draw(from, 1, 6), draw(from, 1, 5), is, pick(from, policies, 4),
             draw(from, 1, 4), thresholds, draw(from, 3, 9), draw(from, 0, 9), draw(from, 1, 20),
             is, pick(from, strategies, 4), 1u << draw(from, 0, 8), draw(from, 1, 9));
}

static void random_yaml(struct draw *from, char yaml[MOST_YAML])
{
    char settings[MOST_SETTINGS];
    random_settings(from, ": ", settings);
    snprintf(yaml, MOST_YAML, "seed: %u\n%s", draw(from, 0, 1000), settings);
}

static struct length_job random_job(struct draw *from, uint32_t **ret_lengths, uint32_t epochs,
                                    char yaml[MOST_YAML])
{
    random_yaml(from, yaml);
    size_t count = draw(from, 1, 400);
    uint32_t most = 1u << draw(from, 0, 10);
    *ret_lengths = heavy_tailed_lengths(from->seed, count, most);
    if (draw(from, 0, 3) == 0) /* all alike */
        for (size_t i = 0; i < count; i++)
            (*ret_lengths)[i] = most;
    size_t half = count > 1 ? count / 2 : 1;
    struct length_source sources[] = { { "a", 1, epochs, *ret_lengths, half },
                                       { "b", draw(from, 1, 9), epochs, *ret_lengths + half,
                                         count - half } };
    return length_job_open_sharded(yaml, sources, count > 1 ? 2 : 1, SHARDS);
}

static void check_microbatch(const struct step_plan *plan, uint32_t index,
                             const struct config *config)
{
    const struct plan_microbatch *microbatch = &plan->microbatches[index];
    const char *policy = config->packing.policy;
    bool fixed = strcmp(policy, "plain") == 0 || strcmp(policy, "fixed-greedy") == 0;
    uint32_t tokens = 0, ranks = 0;
    for (uint32_t i = 0; i < microbatch->piece_count; i++)
        tokens += plan->pieces[microbatch->first_piece + i].length;
    cr_assert_eq(microbatch->tokens, tokens);
    cr_assert_leq(tokens, fixed ? config->context_window : config->max_sequence_length);
    cr_assert_eq(microbatch->padded_tokens % config->sharding.pad_to_multiple, 0);
    for (uint32_t r = 0; r < plan->rank_count; r++) {
        uint32_t on_rank = step_plan_rank(plan, index, r)->tokens;
        cr_assert_leq(on_rank, microbatch->padded_tokens);
        cr_assert_leq(on_rank, (tokens + plan->rank_count - 1) / plan->rank_count);
        cr_assert_geq(on_rank, tokens / plan->rank_count);
        ranks += on_rank;
    }
    cr_assert_eq(ranks, tokens);
}

static void random_reshape(struct draw *from, char settings[MOST_SETTINGS])
{
    random_settings(from, "=", settings);
    size_t used = strlen(settings);
    snprintf(settings + used, MOST_SETTINGS - used, "sources.a.weight=%u\n", draw(from, 1, 9));
}

/* Can the job be planned so? Something must be left of every source, for instance. */
static bool opens(const struct length_job *job, const struct job_ledger *ledger)
{
    struct history *history;
    struct planner *planner = NULL;
    cr_assert_eq(history_new(job->config, ledger, &history, NULL), 0);
    bool opened = planner_open(history, job->corpus, &planner, NULL) == 0;
    planner_free(planner);
    history_free(history);
    return opened;
}

static void add_entry(struct job_ledger *ledger, const struct ledger_entry *entry, char *yaml)
{
    struct error err = { 0 };
    char *text = NULL;
    size_t bytes, used = strlen(yaml);
    FILE *file = open_memstream(&text, &bytes);
    ledger_entry_write(file, entry);
    fclose(file);
    snprintf(yaml + used, MOST_YAML - used, "%s%s", text, entry->settings ? entry->settings : "");
    free(text);
    cr_assert_eq(job_ledger_append(ledger, entry, &err), 0, "%s", err.text);
}

/* Drops a shard, unless nothing would be left. */
static void add_drop(struct draw *from, const struct length_job *job, struct job_ledger *ledger,
                     uint64_t step, char *yaml)
{
    char name[8];
    const struct source *source =
        &job->corpus->sources[draw(from, 0, (uint32_t)job->corpus->source_count - 1)];
    struct ledger_entry drop = { .kind = LEDGER_DROP,
                                 .step = step,
                                 .source = source->name,
                                 .shard = draw(from, 0, SHARDS - 1),
                                 .shard_name = name };
    struct job_ledger tried = { 0 };
    snprintf(name, sizeof name, "%s-%u", source->name, drop.shard);
    cr_assert_eq(job_ledger_copy(ledger, &tried, NULL), 0);
    cr_assert_eq(job_ledger_append(&tried, &drop, NULL), 0);
    if (opens(job, &tried))
        add_entry(ledger, &drop, yaml);
    job_ledger_fini(&tried);
}

/* The job with up to `most` changes on its way, in steps 1 to 12; yaml gets them at its end. */
static struct history *random_history(struct draw *from, const struct length_job *job,
                                      uint32_t most, char yaml[MOST_YAML])
{
    struct job_ledger ledger = { 0 };
    struct history *history;
    struct planner *planner;
    struct error err = { 0 };
    char settings[MOST_SETTINGS];
    if (planner_new(job->config, job->corpus, &planner, &err) == 0)
        ledger.job = planner_job_digest(planner);
    planner_free(err.code ? NULL : planner);
    cr_assert_eq(config_settings(job->config, &ledger.settings, &err), 0, "%s", err.text);
    uint64_t step = 0;
    for (uint32_t i = draw(from, 0, most); i > 0; i--) {
        step += draw(from, step == 0, 4);
        uint32_t kind = draw(from, 0, 3);
        if (kind == 0) {
            add_drop(from, job, &ledger, step, yaml);
            continue;
        }
        struct ledger_entry entry = { .kind = kind == 1 ? LEDGER_SKIP : LEDGER_RESHAPE,
                                      .step = step,
                                      .last_step = step + draw(from, 0, 3),
                                      .settings = kind == 1 ? NULL : settings };
        random_reshape(from, settings);
        add_entry(&ledger, &entry, yaml);
    }
    cr_assert_eq(history_new(job->config, &ledger, &history, &err), 0, "%s", err.text);
    job_ledger_fini(&ledger);
    return history;
}

static void serve_left_out(void *context, uint64_t step, const struct packing *packing)
{
    (void)step;
    for (size_t i = 0; i < packing->piece_count; i++) {
        const char *wrong = ledger_serve(context, &packing->pieces[i]);
        cr_assert_null(wrong, "left out: %s", wrong);
    }
}

/* Plans to the end; returns how many steps there were. */
static uint64_t run_to_end(const struct history *history, const struct corpus *corpus,
                           struct ledger *ledger, const char *yaml)
{
    const struct config *first = history_config(history, 0);
    bool promised = strcmp(first->packing.policy, "adaptive") == 0 && history->ledger.count == 0;
    struct planner *planner;
    struct step_plan plan = { 0 };
    struct error err = { 0 };
    cr_assert_eq(planner_open(history, corpus, &planner, &err), 0, "%s", err.text);
    planner_watch_left_out(planner, serve_left_out, ledger);
    enum planner_result result;
    while ((result = planner_step(planner, &plan, &err)) == PLANNER_STEP) {
        cr_assert_gt(plan.tokens, 0, "a step is never empty");
        for (size_t i = 0; i < plan.piece_count; i++) {
            cr_assert_leq(plan.pieces[i].arrived, plan.step);
            if (promised)
                cr_assert_leq(plan.step - plan.pieces[i].arrived, first->packing.max_delay,
                              "max_delay is a promise:\n%s", yaml);
            const char *wrong = ledger_serve(ledger, &plan.pieces[i]);
            cr_assert_null(wrong, "%s in step %lu of\n%s", wrong, plan.step, yaml);
        }
        for (uint32_t m = 0; m < plan.microbatch_count; m++)
            check_microbatch(&plan, m, history_config(history, plan.step));
    }
    cr_assert_eq(result, PLANNER_END, "%s", err.text);

    struct planner_state state = { 0 };
    cr_assert_eq(planner_save(planner, &state, &err), 0);
    cr_assert_eq(state.waiting_count, 0);
    uint64_t dropped = state.dropped_tokens;
    for (size_t s = 0; s < state.cursor_count; s++)
        dropped += state.cursors[s].dropped_tokens;
    cr_assert_eq(ledger_unserved(ledger), dropped, "served + dropped = corpus");
    uint64_t steps = state.next_step;
    planner_state_fini(&state);
    step_plan_fini(&plan);
    planner_free(planner);
    return steps;
}

Test(property_plan, conservation_and_caps, .timeout = 100)
{
    for (uint64_t seed = 0; seed < 600; seed++) {
        struct draw from = { seed, 0 };
        char yaml[MOST_YAML];
        uint32_t *lengths;
        struct length_job job = random_job(&from, &lengths, 1, yaml);
        struct ledger ledger = ledger_new(job.corpus);
        struct history *history = random_history(&from, &job, seed % 3 ? 4 : 0, yaml);
        run_to_end(history, job.corpus, &ledger, yaml);
        history_free(history);
        ledger_free(&ledger);
        length_job_close(&job);
        free(lengths);
    }
}

static void expect_same(const struct step_plan *a, const struct step_plan *b, const char *yaml)
{
    cr_assert_eq(a->step, b->step);
    cr_assert(digest_equal(a->digest, b->digest), "step %lu of\n%s", a->step, yaml);
    cr_assert_eq(memcmp(&a->waiting, &b->waiting, sizeof a->waiting), 0, "step %lu of\n%s", a->step,
                 yaml);
}

/* A planner restored from any step's saved state goes on as the one that was never stopped. */
Test(property_plan, restore_continues_exactly, .timeout = 100)
{
    for (uint64_t seed = 1000; seed < 1150; seed++) {
        struct draw from = { seed, 0 };
        char yaml[MOST_YAML];
        uint32_t *lengths;
        struct length_job job = random_job(&from, &lengths, draw(&from, 0, 2), yaml);
        struct history *history = random_history(&from, &job, seed % 2 ? 4 : 0, yaml);
        struct planner *whole, *resumed;
        struct step_plan expected = { 0 }, found = { 0 };
        struct planner_state state = { 0 };
        struct error err = { 0 };
        if (planner_open(history, job.corpus, &whole, &err) == 0) {
            cr_assert_eq(planner_open(history, job.corpus, &resumed, &err), 0);
            for (int step = 0; step < 30; step++) {
                cr_assert_eq(planner_save(whole, &state, &err), 0);
                cr_assert_eq(planner_restore(resumed, &state, &err), 0, "%s", err.text);
                enum planner_result a = planner_step(whole, &expected, &err);
                enum planner_result b = planner_step(resumed, &found, &err);
                cr_assert_eq(a, b);
                if (a != PLANNER_STEP)
                    break;
                expect_same(&expected, &found, yaml);
            }
            planner_free(resumed);
            planner_free(whole);
        } else {
            cr_assert_eq(err.code, EX_DATAERR, "only a source with nothing usable: %s", err.text);
        }
        planner_state_fini(&state);
        step_plan_fini(&expected);
        step_plan_fini(&found);
        history_free(history);
        length_job_close(&job);
        free(lengths);
    }
}
