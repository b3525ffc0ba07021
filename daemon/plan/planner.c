/* The planner: a row of epochs, and the entries of the ledger between and within them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plan/dropped_shards.h"
#include "plan/epoch.h"
#include "plan/plan.h"

struct planner {
    const struct corpus *corpus;
    const struct history *history;
    struct history *own; /* NULL: the history is the caller's */
    struct epoch **epochs;
    size_t at;              /* the epoch at work */
    size_t applied;         /* entries of the ledger behind it */
    struct digest *digests; /* E(i): of the job with its first i entries, one more than there are */
    planner_left_out *left_out;
    void *left_out_context;
    struct planner_state state; /* on its way from one epoch to the next */
};

static struct epoch *now(const struct planner *planner)
{
    return planner->epochs[planner->at];
}

/* ---- opening ---- */

/* What of an entry enters the chains of digests: the text is the caller's to free. */
static int entry_text(const struct planner *planner, size_t index, size_t epoch, char **ret_text,
                      size_t *ret_bytes, struct error *err)
{
    const struct ledger_entry *entry = &planner->history->ledger.entries[index];
    struct text text;
    int status = text_open(&text, "reading the ledger", err);
    if (status)
        return status;
    ledger_entry_write(text.file, entry);
    if (entry->kind == LEDGER_RESHAPE)
        fputs(epoch_job_text(planner->epochs[epoch]), text.file);
    return text_close(&text, "reading the ledger", ret_text, ret_bytes, err);
}

static int open_epochs(struct planner *planner, const struct corpus *corpus, struct error *err)
{
    const struct history *history = planner->history;
    int status = 0;
    for (size_t i = 0; i < history->count && !status; i++) {
        status = epoch_new(history->epochs[i].config, corpus, &planner->epochs[i], err);
        if (status && i > 0 && err)
            error_prefix(err, "from step %llu on",
                         (unsigned long long)history->epochs[i].from_step);
    }
    return status;
}

/* E(0): of a job that goes on with another corpus, bound to what it was before. */
static struct digest first_digest(const struct planner *planner)
{
    const struct ledger_origin *origin = &planner->history->ledger.origin;
    struct digest job = epoch_job_digest(planner->epochs[0]);
    return origin->state ? digest_chain(origin->former, job.bytes, DIGEST_BYTES) : job;
}

static int chain_digests(struct planner *planner, struct error *err)
{
    const struct job_ledger *ledger = &planner->history->ledger;
    planner->digests[0] = first_digest(planner);
    for (size_t i = 0; i < ledger->count; i++) {
        char *text;
        size_t bytes;
        int status = entry_text(planner, i, history_epoch_after(planner->history, i + 1), &text,
                                &bytes, err);
        if (status)
            return status;
        planner->digests[i + 1] = digest_chain(planner->digests[i], text, bytes);
        free(text);
    }
    return 0;
}

/* A ledger is of one job: the same configuration at step 0, and the same corpus. */
static int check_job(const struct planner *planner, struct error *err)
{
    const struct job_ledger *ledger = &planner->history->ledger;
    char of_ledger[DIGEST_TEXT_BYTES], here[DIGEST_TEXT_BYTES];
    struct digest job = epoch_job_digest(planner->epochs[0]);
    bool empty = ledger->count == 0 && !ledger->origin.state;
    if (empty || digest_equal(ledger->job, job))
        return 0;
    return error_set(err, EX_DATAERR,
                     "the ledger is of the job %s, and this is %s: configuration or corpus differ",
                     digest_text(ledger->job, of_ledger), digest_text(job, here));
}

/* Once an entry is reached it is too late for it to be impossible. */
static int check_drop(struct planner *planner, size_t index, struct error *err)
{
    const struct ledger_entry *entry = &planner->history->ledger.entries[index];
    size_t source = 0, first = history_epoch_after(planner->history, index + 1);
    int status = dropped_shard_find(entry, planner->corpus, &source, err);
    for (size_t i = first; i < planner->history->count && !status; i++)
        status = epoch_without_shard(planner->epochs[i], source, entry->shard, err);
    if (status && err)
        error_prefix(err, "the ledger, from step %llu on", (unsigned long long)entry->step);
    return status;
}

static int check_drops(struct planner *planner, struct error *err)
{
    const struct job_ledger *ledger = &planner->history->ledger;
    int status = 0;
    for (size_t i = 0; i < ledger->count && !status; i++)
        if (ledger->entries[i].kind == LEDGER_DROP)
            status = check_drop(planner, i, err);
    for (size_t i = 0; i < planner->history->count; i++)
        epoch_with_all_shards(planner->epochs[i]);
    return status;
}

static int init(struct planner *planner, const struct corpus *corpus, struct error *err)
{
    planner->epochs = calloc(planner->history->count, sizeof(struct epoch *));
    planner->digests = calloc(planner->history->ledger.count + 1, sizeof *planner->digests);
    if (!planner->epochs || !planner->digests)
        return error_memory(err, "opening the planner");
    int status = open_epochs(planner, corpus, err);
    if (!status)
        status = chain_digests(planner, err);
    if (!status)
        status = check_job(planner, err);
    return status ? status : check_drops(planner, err);
}

int planner_open(const struct history *history, const struct corpus *corpus,
                 struct planner **ret_planner, struct error *err)
{
    struct planner *planner = calloc(1, sizeof *planner);
    if (!planner)
        return error_memory(err, "opening the planner");
    planner->history = history;
    planner->corpus = corpus;
    int status = init(planner, corpus, err);
    if (status) {
        planner_free(planner);
        return status;
    }
    *ret_planner = planner;
    return 0;
}

int planner_new(const struct config *config, const struct corpus *corpus,
                struct planner **ret_planner, struct error *err)
{
    struct history *history;
    int status = history_new(config, NULL, &history, err);
    if (status)
        return status;
    status = planner_open(history, corpus, ret_planner, err);
    if (status)
        history_free(history);
    else
        (*ret_planner)->own = history;
    return status;
}

void planner_free(struct planner *planner)
{
    if (!planner)
        return;
    for (size_t i = 0; planner->epochs && i < planner->history->count; i++)
        epoch_free(planner->epochs[i]);
    free(planner->epochs);
    free(planner->digests);
    planner_state_fini(&planner->state);
    history_free(planner->own);
    free(planner);
}

/* ---- entries of the ledger ---- */

/* The epoch at work goes without the shards that the entries behind it have dropped. */
static int drop_former_shards(struct planner *planner, struct error *err)
{
    int status = 0;
    epoch_with_all_shards(now(planner));
    for (size_t i = 0; i < planner->applied && !status; i++) {
        const struct ledger_entry *entry = &planner->history->ledger.entries[i];
        size_t source;
        if (entry->kind != LEDGER_DROP)
            continue;
        status = dropped_shard_find(entry, planner->corpus, &source, err);
        if (!status)
            status = epoch_without_shard(now(planner), source, entry->shard, err);
    }
    return status;
}

static int change_epoch(struct planner *planner, struct error *err)
{
    const struct config *former = planner->history->epochs[planner->at].config;
    int status = epoch_save(now(planner), &planner->state, err);
    if (status)
        return status;
    planner->at++;
    status = drop_former_shards(planner, err);
    return status ? status : epoch_take_over(now(planner), &planner->state, former, err);
}

static int drop_shard(struct planner *planner, const struct ledger_entry *entry, struct error *err)
{
    size_t source;
    int status = dropped_shard_find(entry, planner->corpus, &source, err);
    return status ? status : epoch_drop_shard(now(planner), source, entry->shard, err);
}

/* The data may end on the way: the step itself then finds that out. */
static int leave_out(struct planner *planner, const struct ledger_entry *entry, struct error *err)
{
    for (uint64_t step = entry->step; step <= entry->last_step; step++) {
        enum planner_result result = epoch_leave_out(now(planner), err);
        if (result == PLANNER_ERROR)
            return err ? err->code : EX_SOFTWARE;
        if (result == PLANNER_END)
            break;
        if (planner->left_out)
            planner->left_out(planner->left_out_context, entry->step, epoch_left_out(now(planner)));
    }
    return epoch_go_back(now(planner), entry->step, err);
}

static int change(struct planner *planner, const struct ledger_entry *entry, struct error *err)
{
    switch (entry->kind) {
    case LEDGER_RESHAPE:
        return change_epoch(planner, err);
    case LEDGER_SKIP:
        return leave_out(planner, entry, err);
    case LEDGER_DROP:
        break;
    }
    return drop_shard(planner, entry, err);
}

static int apply(struct planner *planner, struct error *err)
{
    const struct ledger_entry *entry = &planner->history->ledger.entries[planner->applied];
    char *text;
    size_t bytes;
    int status = change(planner, entry, err);
    if (!status)
        status = entry_text(planner, planner->applied, planner->at, &text, &bytes, err);
    if (status)
        return status;
    epoch_chain(now(planner), text, bytes);
    free(text);
    planner->applied++;
    return 0;
}

enum planner_result planner_step(struct planner *planner, struct step_plan *plan, struct error *err)
{
    const struct job_ledger *ledger = &planner->history->ledger;
    if (epoch_finished(now(planner)))
        return PLANNER_END;
    while (planner->applied < ledger->count &&
           ledger->entries[planner->applied].step == planner_next_step(planner))
        if (apply(planner, err))
            return PLANNER_ERROR;
    return epoch_step(now(planner), plan, err);
}

void planner_watch_left_out(struct planner *planner, planner_left_out *watcher, void *context)
{
    planner->left_out = watcher;
    planner->left_out_context = context;
}

/* ---- facts ---- */

uint64_t planner_next_step(const struct planner *planner)
{
    return epoch_next_step(now(planner));
}

const struct history *planner_history(const struct planner *planner)
{
    return planner->history;
}

const struct digest *planner_digests(const struct planner *planner)
{
    return planner->digests;
}

const struct auto_thresholds *planner_auto_thresholds(const struct planner *planner)
{
    return epoch_auto_thresholds(planner->epochs[0]);
}

struct digest planner_job_digest(const struct planner *planner)
{
    return epoch_job_digest(planner->epochs[0]);
}

const char *planner_job_text(const struct planner *planner)
{
    return epoch_job_text(planner->epochs[0]);
}

const char *planner_last_job_text(const struct planner *planner)
{
    return epoch_job_text(planner->epochs[planner->history->count - 1]);
}

const struct source_cursor *planner_cursors(const struct planner *planner)
{
    return epoch_cursors(now(planner));
}

uint64_t planner_position(const struct planner *planner, size_t source, uint64_t epoch,
                          uint64_t document)
{
    return epoch_position(planner->epochs[0], source, epoch, document);
}

const struct pack_policy *planner_policy(const struct planner *planner, const void **ret_state)
{
    return epoch_policy(now(planner), ret_state);
}

const struct piece *planner_backlog(const struct planner *planner, size_t *ret_count)
{
    return epoch_backlog(now(planner), ret_count);
}

void planner_watch(struct planner *planner, planner_watcher *watcher, void *context)
{
    for (size_t i = 0; i < planner->history->count; i++)
        epoch_watch(planner->epochs[i], watcher, context);
}

/* ---- states ---- */

void planner_state_fini(struct planner_state *state)
{
    free(state->cursors);
    free(state->waiting);
    *state = (struct planner_state){ 0 };
}

int planner_save(const struct planner *planner, struct planner_state *state, struct error *err)
{
    return epoch_save(now(planner), state, err);
}

/* Entries of the state's own step are still to come. */
int planner_restore(struct planner *planner, const struct planner_state *state, struct error *err)
{
    size_t applied = job_ledger_before(&planner->history->ledger, state->next_step);
    planner->applied = applied;
    planner->at = history_epoch_after(planner->history, applied);
    int status = drop_former_shards(planner, err);
    return status ? status : epoch_restore(now(planner), state, err);
}
