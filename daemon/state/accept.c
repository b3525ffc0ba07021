#include "state/accept.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/settings.h"
#include "state/job_file.h"
#include "state/snapshot.h"

/* One acceptance under way. */
struct accepting {
    const struct config *config;
    const struct corpus *corpus;
    const struct state_directory *directory;
    struct state_list list;
    struct planner *planner; /* of the job that it becomes */
    struct digest job;       /* the same */
    char *former_text;       /* what the job was */
    struct planner_state state;
};

/* ---- what there is ---- */

static bool has_ledger(const struct accepting *accepting, struct digest job)
{
    struct job_ledger ledger = { 0 };
    int status = state_directory_read_ledger(accepting->directory, job, &ledger, NULL);
    job_ledger_fini(&ledger);
    return status != EX_NOINPUT;
}

/* Was it served from this directory before, be it only to refuse its trainers? */
static bool is_known(const struct accepting *accepting)
{
    for (size_t i = 0; i < accepting->list.job_count; i++)
        if (digest_equal(accepting->list.jobs[i].digest, accepting->job))
            return true;
    return false;
}

/* The step of its furthest snapshot; 0 when there is none. */
static uint64_t furthest(const struct accepting *accepting, struct digest job)
{
    uint64_t step = 0;
    for (size_t i = 0; i < accepting->list.count; i++)
        if (digest_equal(accepting->list.entries[i].job, job))
            step = accepting->list.entries[i].step; /* they rise */
    return step;
}

/*
 * The text of a job with snapshots that differs in its corpus alone, or NULL. One with a ledger is
 * named by what the ledger has come to, which has a text of its own.
 */
static char *text_of_candidate(const struct accepting *accepting, struct digest job)
{
    char *text = NULL;
    if (digest_equal(job, accepting->job) || has_ledger(accepting, job) ||
        furthest(accepting, job) == 0 ||
        state_directory_read_job(accepting->directory, job, &text, NULL))
        return NULL;
    if (job_same_configuration(text, planner_job_text(accepting->planner)))
        return text;
    free(text);
    return NULL;
}

/* Without one, accepting->former_text stays NULL. */
static void find_former(struct accepting *accepting, struct digest *ret_former)
{
    int64_t served_ns = INT64_MIN;
    for (size_t i = 0; i < accepting->list.job_count; i++) {
        const struct state_job *job = &accepting->list.jobs[i];
        char *text = text_of_candidate(accepting, job->digest);
        if (!text || (accepting->former_text && job->served_ns <= served_ns)) {
            free(text);
            continue;
        }
        free(accepting->former_text);
        accepting->former_text = text;
        served_ns = job->served_ns;
        *ret_former = job->digest;
    }
}

static int find_snapshot(struct accepting *accepting, struct digest former, uint64_t step,
                         struct error *err)
{
    const struct state_entry *best = NULL;
    for (size_t i = 0; i < accepting->list.count; i++) {
        const struct state_entry *entry = &accepting->list.entries[i];
        if (digest_equal(entry->job, former) && entry->step > 0 && entry->step <= step)
            best = entry; /* they rise */
    }
    if (!best)
        return error_set(err, EX_USAGE,
                         "--accept-corpus-change: there is no snapshot of the former job before or "
                         "at that step, and without its corpus it cannot be planned");
    return state_directory_read(accepting->directory, best, &accepting->state, err);
}

/* ---- the state, fit for the new corpus ---- */

static bool source_is_same(const struct accepting *accepting, size_t index)
{
    return job_same_source(accepting->former_text, planner_job_text(accepting->planner),
                           accepting->corpus->sources[index].name);
}

/* A source that begins anew counts anew, but for the blend, which goes on. */
static void begin_sources_anew(struct accepting *accepting, bool *same, struct accepted *accepted)
{
    for (size_t i = 0; i < accepting->state.cursor_count; i++) {
        struct source_cursor *cursor = &accepting->state.cursors[i];
        same[i] = source_is_same(accepting, i);
        if (same[i])
            continue;
        *cursor = (struct source_cursor){ .blended = cursor->blended };
        accepted->changed++;
    }
}

static void drop_waiting(struct accepting *accepting, const bool *same, struct accepted *accepted)
{
    struct planner_state *state = &accepting->state;
    size_t kept = 0;
    for (size_t i = 0; i < state->waiting_count; i++) {
        const struct waiting_piece *waiting = &state->waiting[i];
        if (waiting->piece.source < state->cursor_count && same[waiting->piece.source]) {
            state->waiting[kept++] = *waiting;
            continue;
        }
        accepted->dropped_pieces++;
        accepted->dropped_tokens += waiting->piece.length;
    }
    state->waiting_count = kept;
}

/* Data may have come to an end that goes on now. */
static int convert(struct accepting *accepting, struct accepted *accepted, struct error *err)
{
    struct planner_state *state = &accepting->state;
    if (state->cursor_count != accepting->corpus->source_count)
        return error_set(err, EX_DATAERR, "the snapshot holds %zu sources, the corpus %zu",
                         state->cursor_count, accepting->corpus->source_count);
    bool *same = calloc(state->cursor_count + 1, sizeof *same);
    if (!same)
        return error_memory(err, "accepting a change of the corpus");
    begin_sources_anew(accepting, same, accepted);
    drop_waiting(accepting, same, accepted);
    free(same);
    state->ended = state->finished = false;
    state->digest = digest_chain(state->digest, accepting->job.bytes, DIGEST_BYTES);
    return snapshot_fits(state, accepting->corpus, accepting->config->context_window, err);
}

/* ---- the ledger ---- */

static int write_ledger(struct accepting *accepting, struct digest former, struct digest digest,
                        struct error *err)
{
    struct job_ledger ledger = {
        .job = accepting->job,
        .origin = { .step = accepting->state.next_step, .former = former, .digest = digest }
    };
    void *bytes = NULL;
    int status =
        snapshot_encode(&accepting->state, accepting->job, &bytes, &ledger.origin.state_bytes, err);
    ledger.origin.state = bytes;
    if (!status && ledger.origin.state_bytes > LEDGER_MOST_STATE)
        status =
            error_set(err, EX_DATAERR,
                      "the snapshot has %zu bytes, and a ledger takes %zu: try an earlier step",
                      ledger.origin.state_bytes, LEDGER_MOST_STATE);
    if (!status)
        status = config_settings(accepting->config, &ledger.settings, err);
    if (!status)
        status = state_directory_write_ledger(accepting->directory, &ledger, err);
    job_ledger_fini(&ledger);
    return status;
}

/* Served as a job of its own, be it to refuse the trainers of the former one: which is meant? */
static int check_intent(const struct accepting *accepting, uint64_t step, struct error *err)
{
    uint64_t own = furthest(accepting, accepting->job);
    if (step != ACCEPT_NEWEST || own == 0)
        return 0;
    return error_set(err, EX_USAGE,
                     "--accept-corpus-change: with this corpus a job of its own was begun already, "
                     "up to step %" PRIu64 "; to go on with the former one instead, name the step: "
                     "--accept-corpus-change=STEP",
                     own);
}

static int accept(struct accepting *accepting, uint64_t step, struct accepted *accepted,
                  struct error *err)
{
    accepted->nothing = has_ledger(accepting, accepting->job);
    if (accepted->nothing)
        return 0;
    find_former(accepting, &accepted->former);
    accepted->nothing = !accepting->former_text && is_known(accepting);
    if (accepted->nothing)
        return 0;
    if (!accepting->former_text)
        return error_set(err, EX_USAGE,
                         "--accept-corpus-change: %s has no snapshot of a job of this "
                         "configuration with another corpus; the configuration must be the one "
                         "that was in force last",
                         accepting->directory->path);
    int status = check_intent(accepting, step, err);
    if (!status)
        status = find_snapshot(accepting, accepted->former, step, err);
    if (status)
        return status;
    struct digest digest = accepting->state.digest;
    accepted->step = accepting->state.next_step;
    status = convert(accepting, accepted, err);
    return status ? status : write_ledger(accepting, accepted->former, digest, err);
}

int corpus_accept(const struct config *config, const struct corpus *corpus,
                  const struct state_directory *directory, uint64_t step,
                  struct accepted *ret_accepted, struct error *err)
{
    struct accepting accepting = { .config = config, .corpus = corpus, .directory = directory };
    struct accepted accepted = { .nothing = false };
    int status = planner_new(config, corpus, &accepting.planner, err);
    if (!status) {
        accepting.job = planner_job_digest(accepting.planner);
        status = state_directory_list(directory, &accepting.list, err);
    }
    if (!status)
        status = accept(&accepting, step, &accepted, err);
    planner_free(accepting.planner);
    state_list_fini(&accepting.list);
    planner_state_fini(&accepting.state);
    free(accepting.former_text);
    if (!status)
        *ret_accepted = accepted;
    return status;
}
