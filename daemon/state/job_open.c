#include "state/job_open.h"

#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "state/snapshot.h"

void job_close(struct open_job *job)
{
    planner_free(job->planner);
    history_free(job->history);
    *job = (struct open_job){ 0 };
}

/* A job that changed its corpus begins with the state that it was accepted in. */
static int go_to_origin(const struct history *history, const struct corpus *corpus,
                        struct planner *planner, struct error *err)
{
    const struct ledger_origin *origin = &history->ledger.origin;
    struct planner_state state = { 0 };
    struct digest digest;
    if (!origin->state)
        return 0;
    int status = snapshot_decode(origin->state, origin->state_bytes, &state, &digest, err);
    if (!status)
        status = snapshot_fits(&state, corpus, history->epochs[0].config->context_window, err);
    if (!status && state.next_step != origin->step)
        status = error_set(err, EX_DATAERR, "it is of another step");
    if (!status)
        status = planner_restore(planner, &state, err);
    planner_state_fini(&state);
    if (status && err)
        error_prefix(err, "the snapshot in the ledger");
    return status;
}

int job_planner(const struct history *history, const struct corpus *corpus,
                struct planner **ret_planner, struct error *err)
{
    struct planner *planner;
    int status = planner_open(history, corpus, &planner, err);
    if (status)
        return status;
    status = go_to_origin(history, corpus, planner, err);
    if (status)
        planner_free(planner);
    else
        *ret_planner = planner;
    return status;
}

static int open_with(const struct config *config, const struct corpus *corpus,
                     const struct job_ledger *ledger, struct open_job *ret_job, struct error *err)
{
    struct open_job job = { 0 };
    int status = history_new(config, ledger, &job.history, err);
    if (!status)
        status = job_planner(job.history, corpus, &job.planner, err);
    if (status)
        job_close(&job);
    else
        *ret_job = job;
    return status;
}

/* Is `config` one that the ledger puts in force after step 0? */
static int names(const struct config *config, const struct history *history, bool *ret_found,
                 struct error *err)
{
    char *text = NULL;
    int status = config_plan_text(config, &text, err);
    *ret_found = false;
    for (size_t i = 1; i < history->count && !status && !*ret_found; i++) {
        char *its_text = NULL;
        status = config_plan_text(history->epochs[i].config, &its_text, err);
        *ret_found = !status && strcmp(text, its_text) == 0;
        free(its_text);
    }
    free(text);
    return status;
}

/* A ledger that is no good for this job, and not one that could not be looked at. */
static bool is_foreign(int status)
{
    return status == EX_DATAERR || status == EX_CONFIG || status == EX_NOINPUT;
}

/*
 * Opens the job of this ledger if it is ours under a newer configuration; else *ret_ours is false.
 * EX_OSERR, EX_IOERR, EX_SOFTWARE: nobody knows.
 */
static int try_ledger(const struct config *config, const struct corpus *corpus,
                      const struct state_directory *directory, struct digest digest, bool *ret_ours,
                      struct open_job *ret_job, struct error *err)
{
    struct job_ledger ledger = { 0 };
    struct history *history = NULL;
    bool ours = false;
    int status = state_directory_read_ledger(directory, digest, &ledger, err);
    if (!status)
        status = history_new(config, &ledger, &history, err);
    if (!status)
        status = names(config, history, &ours, err);
    if (!status && ours)
        status = open_with(config, corpus, &ledger, ret_job, err);
    history_free(history);
    job_ledger_fini(&ledger);
    *ret_ours = !status && ours;
    return is_foreign(status) ? 0 : status;
}

/* `job` is open without a ledger, and is replaced where a ledger names its configuration. */
static int look_for_ledger(const struct config *config, const struct corpus *corpus,
                           const struct state_directory *directory, struct open_job *job,
                           struct error *err)
{
    struct state_ledgers ledgers = { 0 };
    bool found = false;
    int status = state_directory_ledgers(directory, &ledgers, err);
    for (size_t i = 0; i < ledgers.count && !status; i++) {
        struct open_job other;
        bool ours;
        status = try_ledger(config, corpus, directory, ledgers.jobs[i], &ours, &other, err);
        if (!ours)
            continue;
        if (found) {
            job_close(&other);
            status = error_set(err, EX_CONFIG,
                               "%s: two ledgers came to this configuration: start with the one of "
                               "step 0",
                               directory->path);
            break;
        }
        job_close(job);
        *job = other;
        found = true;
    }
    free(ledgers.jobs);
    return status;
}

static int read_ledger(const struct config *config, const struct corpus *corpus,
                       const struct state_directory *directory, struct open_job *job,
                       struct error *err)
{
    struct job_ledger ledger = { 0 };
    struct open_job with = { 0 };
    struct error why = { 0 };
    int status =
        state_directory_read_ledger(directory, planner_job_digest(job->planner), &ledger, &why);
    if (status == EX_NOINPUT) {
        job_ledger_fini(&ledger);
        return look_for_ledger(config, corpus, directory, job, err);
    }
    if (status)
        status = error_set(err, status, "%s; put a good copy back", why.text);
    else
        status = open_with(config, corpus, &ledger, &with, err);
    job_ledger_fini(&ledger);
    if (status)
        return status;
    job_close(job);
    *job = with;
    return 0;
}

int job_open(const struct config *config, const struct corpus *corpus,
             const struct state_directory *directory, struct open_job *ret_job, struct error *err)
{
    struct open_job job;
    int status = open_with(config, corpus, NULL, &job, err);
    if (status)
        return status;
    if (directory && directory->fd >= 0)
        status = read_ledger(config, corpus, directory, &job, err);
    if (status)
        job_close(&job);
    else
        *ret_job = job;
    return status;
}
