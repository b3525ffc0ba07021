/* What is found at the start: the directory, its snapshots, other jobs, and a change to accept. */
#include "serve/snapshots_state.h"
#include "state/accept.h"
#include "state/snapshot.h"

int snapshots_directory(struct snapshots *self, const struct state_directory **ret_directory,
                        struct error *err)
{
    struct error why = { 0 };
    int failed = state_directory_open(&self->directory, &why);
    if (failed == EX_OSERR || failed == EX_IOERR)
        return error_set(err, failed, "%s", why.text);
    if (failed) {
        self->facts.errors++;
        snapshots_tell_trouble(self, &why);
    }
    *ret_directory = &self->directory;
    return 0;
}

int snapshots_accept(struct snapshots *self, const struct config *config,
                     const struct corpus *corpus, uint64_t step, struct error *err)
{
    struct accepted accepted;
    char digest[DIGEST_TEXT_BYTES];
    int failed = state_directory_open(&self->directory, err);
    if (!failed)
        failed = state_directory_lock(&self->directory, err);
    if (!failed)
        failed = corpus_accept(config, corpus, &self->directory, step, &accepted, err);
    if (failed)
        return failed;
    if (accepted.nothing)
        log_write(self->log, LOG_LEVEL_WARNING, "no change of the corpus to accept", NULL);
    else
        log_write(
            self->log, LOG_LEVEL_WARNING, "change of the corpus accepted",
            (struct log_field[]){ log_uint("from_step", accepted.step),
                                  log_text("former_job", digest_text(accepted.former, digest)),
                                  log_uint("sources_begun_anew", accepted.changed),
                                  log_uint("dropped_pieces", accepted.dropped_pieces),
                                  log_uint("dropped_tokens", accepted.dropped_tokens), log_end() });
    return 0;
}

/* ---- what is there ---- */

/* False when there is no directory to look into. */
static bool look(struct snapshots *self)
{
    struct error why = { 0 };
    if (self->directory.fd < 0)
        return false;
    if (state_directory_list(&self->directory, &self->on_disk, &why)) {
        self->facts.errors++;
        snapshots_tell_trouble(self, &why);
        return false;
    }
    if (snapshots_begin_to_write(self, &why)) {
        self->facts.errors++;
        snapshots_tell_trouble(self, &why);
    }
    return true;
}

static void tell_former(struct snapshots *self)
{
    for (size_t i = 0; i < self->former.count; i++) {
        const struct former_job *former = &self->former.jobs[i];
        char digest[DIGEST_TEXT_BYTES];
        if (former->snapshots == 0)
            continue;
        log_write(self->log, LOG_LEVEL_INFO, "snapshots of another job left alone",
                  (struct log_field[]){
                      log_text("job_digest", digest_text(former->digest, digest)),
                      log_uint("snapshots", former->snapshots),
                      log_uint("newest_step", former->newest_step),
                      log_text("changed_since", former->difference[0] ? former->difference : "?"),
                      log_end() });
    }
}

static int load_one(struct snapshots *self, const struct state_entry *entry,
                    struct planner *planner, const struct corpus *corpus,
                    struct planner_state *state, struct error *err)
{
    char name[DIGEST_TEXT_BYTES];
    uint64_t last = entry->step ? entry->step - 1 : 0;
    uint32_t window = history_config(self->lineage->history, last)->context_window;
    int failed = state_directory_read(&self->directory, entry, state, err);
    if (failed)
        return failed;
    failed = snapshot_fits(state, corpus, window, err);
    if (!failed)
        failed = planner_restore(planner, state, err);
    if (failed)
        error_prefix(err, "snapshot of job %s before step %llu", digest_text(entry->job, name),
                     (unsigned long long)entry->step);
    return failed;
}

/* Only EX_OSERR ends it. */
static int load_all(struct snapshots *self, struct planner *planner, const struct corpus *corpus,
                    struct checkpoints *checkpoints, struct error *err)
{
    for (size_t i = 0; i < self->on_disk.count; i++) {
        const struct state_entry *entry = &self->on_disk.entries[i];
        struct planner_state state = { 0 };
        struct error why = { 0 };
        if (!snapshots_is_ours(self->lineage, entry))
            continue;
        int failed = load_one(self, entry, planner, corpus, &state, &why);
        if (!failed)
            failed = checkpoints_put(checkpoints, &state, &why);
        planner_state_fini(&state);
        if (failed == EX_OSERR)
            return error_set(err, EX_OSERR, "%s", why.text);
        if (failed) {
            self->facts.skipped++;
            snapshots_tell(self, LOG_LEVEL_WARNING, "snapshot skipped", &why);
            continue;
        }
        self->facts.loaded++;
        self->facts.any = true;
        if (entry->step > self->facts.last_step)
            self->facts.last_step = entry->step;
    }
    return 0;
}

/* Loads what is there, then puts the planner back. */
static int load(struct snapshots *self, struct planner *planner, const struct corpus *corpus,
                struct checkpoints *checkpoints, struct error *err)
{
    struct planner_state start = { 0 };
    int failed = planner_save(planner, &start, err);
    if (!failed)
        failed = load_all(self, planner, corpus, checkpoints, err);
    if (!failed)
        failed = planner_restore(planner, &start, err);
    planner_state_fini(&start);
    return failed;
}

int snapshots_load(struct snapshots *self, struct planner *planner, const struct corpus *corpus,
                   struct checkpoints *checkpoints, struct error *err)
{
    if (!look(self))
        return 0;
    former_jobs_find(&self->former, &self->directory, &self->on_disk, self->lineage,
                     self->job_text);
    tell_former(self);
    int failed = load(self, planner, corpus, checkpoints, err);
    if (failed)
        return failed;
    log_write(self->log, LOG_LEVEL_INFO, "snapshots loaded",
              (struct log_field[]){ log_text("directory", self->options->directory),
                                    log_uint("snapshots", self->facts.loaded),
                                    log_uint("furthest_step", self->facts.last_step), log_end() });
    return 0;
}
