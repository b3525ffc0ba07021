#include "serve/planner_thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "config/settings.h"
#include "serve/checkpoints.h"
#include "state/job_open.h"

struct planner_thread {
    const struct corpus *corpus;
    struct plan_store *store;
    struct snapshots *snapshots; /* NULL: none */
    planner_notify *notify;
    void *context;
    const struct config *config;
    struct planner *planner;
    struct lineage *lineage; /* the server's */
    bool broken; /* after an error: the planner must be restored before it is used again */
    struct checkpoints checkpoints;
    struct step_plan scratch;
    struct planner_state state; /* on its way to the snapshots */
    pthread_t thread;
    pthread_mutex_t report_lock;
    struct planner_report *report; /* waiting to be taken */
    struct job_ledger wanted;      /* one entry: to be added to the ledger */
    bool changed;
    struct planner_change change; /* waiting to be taken */
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool can_run_forward(const struct planner_thread *self, uint64_t step)
{
    return !self->broken && planner_next_step(self->planner) <= step;
}

static uint64_t steps_away(void *context, uint64_t step)
{
    const struct planner_thread *self = context;
    const struct planner_state *saved = checkpoints_nearest(&self->checkpoints, step);
    uint64_t start = saved ? saved->next_step : 0;
    if (can_run_forward(self, step) && planner_next_step(self->planner) > start)
        start = planner_next_step(self->planner);
    return step - start;
}

static int restore(struct planner_thread *self, uint64_t step, struct error *err)
{
    const struct planner_state *saved = checkpoints_nearest(&self->checkpoints, step);
    if (!saved)
        return error_set(err, EX_SOFTWARE, "no saved planner state at or before step %llu",
                         (unsigned long long)step);
    self->broken = true;
    int failed = planner_restore(self->planner, saved, err);
    self->broken = failed != 0;
    return failed;
}

/* Brings the planner to the best position at or before `step`. */
static int move_to(struct planner_thread *self, uint64_t step, struct error *err)
{
    const struct planner_state *saved = checkpoints_nearest(&self->checkpoints, step);
    if (can_run_forward(self, step) &&
        (!saved || saved->next_step <= planner_next_step(self->planner)))
        return 0;
    uint64_t from = saved ? saved->next_step : 0;
    if (!self->broken) {
        int failed = checkpoints_leave(&self->checkpoints, self->planner, err);
        if (failed)
            return failed;
    }
    return restore(self, from, err);
}

static int keep_checkpoint(struct planner_thread *self, struct error *err)
{
    if (!checkpoints_due(&self->checkpoints, planner_next_step(self->planner)))
        return 0;
    return checkpoints_add(&self->checkpoints, self->planner, err);
}

static int publish(struct planner_thread *self, struct error *err)
{
    struct shared_plan *shared;
    const struct config *config = history_config(self->lineage->history, self->scratch.step);
    struct digest job = lineage_digest(self->lineage, self->scratch.step);
    int failed = shared_plan_new(&self->scratch, job, config, &shared, err);
    if (failed)
        return failed;
    plan_store_put(self->store, shared);
    self->notify(self->context);
    return 0;
}

static struct snapshots_front front_of(const struct planner_thread *self)
{
    struct plan_store_facts facts;
    plan_store_facts(self->store, &facts);
    return (struct snapshots_front){ facts.has_front, facts.front };
}

static int offer_snapshot(struct planner_thread *self, struct snapshots_front front, bool asked,
                          struct error *err)
{
    int failed = planner_save(self->planner, &self->state, err);
    if (!failed)
        snapshots_offer(self->snapshots, &self->state, front, asked);
    return failed;
}

static int keep_snapshot(struct planner_thread *self, struct error *err)
{
    if (!self->snapshots)
        return 0;
    struct snapshots_front front = front_of(self);
    if (!snapshots_due(self->snapshots, planner_next_step(self->planner), front))
        return 0;
    return offer_snapshot(self, front, false, err);
}

/* Plans the next step, and publishes it if it is the target or somebody will want it. */
static enum planner_result plan_one(struct planner_thread *self, uint64_t target, struct error *err)
{
    if (keep_checkpoint(self, err) || keep_snapshot(self, err))
        return PLANNER_ERROR;
    uint64_t step = planner_next_step(self->planner);
    enum planner_result result = planner_step(self->planner, &self->scratch, err);
    if (result != PLANNER_STEP)
        return result;
    plan_store_progress(self->store, step + 1, true);
    if (step != target && !plan_store_keeps(self->store, step))
        return PLANNER_STEP;
    return publish(self, err) ? PLANNER_ERROR : PLANNER_STEP;
}

static void fail(struct planner_thread *self, uint64_t step, const struct error *err)
{
    self->broken = true;
    plan_store_fail(self->store, step, err);
    self->notify(self->context);
}

/* Works towards `target` for one slice. */
static void run_slice(struct planner_thread *self, uint64_t target)
{
    struct error err = { 0 };
    if (move_to(self, target, &err)) {
        fail(self, target, &err);
        return;
    }
    plan_store_progress(self->store, planner_next_step(self->planner), false);
    uint64_t stop_ns = now_ns() + PLANNER_SLICE_NS;
    for (int i = 0; i < PLANNER_SLICE_STEPS && planner_next_step(self->planner) <= target; i++) {
        uint64_t step = planner_next_step(self->planner);
        enum planner_result result = plan_one(self, target, &err);
        if (result == PLANNER_ERROR) {
            fail(self, step, &err);
            return;
        }
        if (result == PLANNER_END) {
            plan_store_end(self->store, step);
            self->notify(self->context);
            return;
        }
        if (now_ns() >= stop_ns)
            return;
    }
}

static void make_report(struct planner_thread *self)
{
    struct planner_report *report = NULL;
    if (!self->broken || restore(self, UINT64_MAX, NULL) == 0)
        report = planner_report_new(self->planner, self->corpus->source_count);
    pthread_mutex_lock(&self->report_lock);
    planner_report_free(self->report);
    self->report = report;
    pthread_mutex_unlock(&self->report_lock);
    self->notify(self->context);
}

/*
 * Brings the planner to the front, or near it where that is far from any saved state: a snapshot
 * serves a job that resumes at or behind the front.
 */
static int go_to_front(struct planner_thread *self, uint64_t front, struct error *err)
{
    int failed = move_to(self, front, err);
    for (int i = 0; !failed && i < PLANNER_SNAPSHOT_STEPS; i++) {
        if (planner_next_step(self->planner) >= front)
            return 0;
        enum planner_result result = planner_step(self->planner, &self->scratch, err);
        if (result == PLANNER_END)
            return 0;
        failed = result == PLANNER_ERROR ? err->code : 0;
    }
    return failed;
}

/* The job may be further than any trainer has said: then where the planner is. */
static int save_front(struct planner_thread *self, bool asked, struct error *err)
{
    struct snapshots_front front = front_of(self);
    int failed = 0;
    if (front.known || self->broken)
        failed = go_to_front(self, front.known ? front.step : UINT64_MAX, err);
    if (failed) {
        self->broken = true;
        return failed;
    }
    return offer_snapshot(self, front, asked, err);
}

static void make_snapshot(struct planner_thread *self)
{
    struct error err = { 0 };
    if (self->snapshots && save_front(self, true, &err))
        snapshots_refuse(self->snapshots, &err);
}

/* Where trainers have come to is worth a snapshot; what was only planned ahead is not. */
static void make_last_snapshot(struct planner_thread *self)
{
    struct error err = { 0 };
    struct snapshots_front front = front_of(self);
    if (self->snapshots && front.known && front.step > 0)
        save_front(self, false, &err);
}

/* ---- changes of the ledger ---- */

/* A bad shard cannot wait for what was recorded for later. */
static int add_entry(struct job_ledger *ledger, const struct ledger_entry *entry, struct error *err)
{
    return entry->kind == LEDGER_DROP ? job_ledger_insert(ledger, entry, err)
                                      : job_ledger_append(ledger, entry, err);
}

/* The ledger with the entry. */
static int extend_ledger(struct planner_thread *self, const struct ledger_entry *entry,
                         struct job_ledger *ledger, struct error *err)
{
    const struct job_ledger *old = &self->lineage->history->ledger;
    int failed = job_ledger_copy(old, ledger, err);
    if (!failed && !ledger->settings) {
        ledger->job = planner_job_digest(self->planner);
        failed = config_settings(self->config, &ledger->settings, err);
    }
    return failed ? failed : add_entry(ledger, entry, err);
}

/* Everything that can fail comes before the ledger is written, which is the moment that counts. */
static int prepare(struct planner_thread *self, const struct ledger_entry *entry,
                   struct planner **ret_planner, struct lineage **ret_lineage, struct error *err)
{
    struct job_ledger ledger = { 0 };
    struct history *history = NULL;
    int failed = extend_ledger(self, entry, &ledger, err);
    if (!failed)
        failed = history_new(self->config, &ledger, &history, err);
    if (!failed)
        failed = planner_open(history, self->corpus, ret_planner, err);
    if (!failed)
        failed = lineage_new(history, *ret_planner, self->lineage, ret_lineage, err);
    if (failed) {
        planner_free(*ret_planner);
        history_free(history);
        *ret_planner = NULL;
    } else {
        failed = snapshots_write_ledger(self->snapshots, &ledger, err);
    }
    job_ledger_fini(&ledger);
    return failed;
}

/* A step that the ledger leaves out is worked on in one go with many others. */
static void on_left_out(void *context, uint64_t step, const struct packing *packing)
{
    (void)step;
    (void)packing;
    plan_store_alive(context);
}

static int change_ledger(struct planner_thread *self, const struct ledger_entry *entry,
                         struct error *err)
{
    struct planner *planner = NULL;
    struct lineage *lineage = NULL;
    int failed = prepare(self, entry, &planner, &lineage, err);
    if (failed) {
        planner_free(planner);
        if (lineage)
            lineage->former = NULL; /* still in force */
        lineage_free(lineage);
        return failed;
    }
    planner_free(self->planner);
    self->planner = planner;
    planner_watch_left_out(planner, on_left_out, self->store);
    self->lineage = lineage;
    self->broken = true; /* it stands at its beginning, wherever the job began */
    checkpoints_forget(&self->checkpoints, entry->step);
    snapshots_follow(self->snapshots, lineage, planner_last_job_text(planner));
    plan_store_forget(self->store, entry->step);
    return 0;
}

static void make_change(struct planner_thread *self)
{
    struct planner_change change = { .error.code = 0 }, unseen;
    struct job_ledger wanted;
    pthread_mutex_lock(&self->report_lock);
    wanted = self->wanted;
    self->wanted = (struct job_ledger){ 0 };
    pthread_mutex_unlock(&self->report_lock);
    if (wanted.count == 0)
        return;
    change_ledger(self, &wanted.entries[0], &change.error);
    change.entry = wanted.entries[0];
    change.lineage = self->lineage;
    wanted.count = 0; /* the entry goes on with the answer */
    job_ledger_fini(&wanted);
    pthread_mutex_lock(&self->report_lock);
    unseen = self->change;
    self->change = change;
    self->changed = true;
    pthread_mutex_unlock(&self->report_lock);
    ledger_entry_fini(&unseen.entry);
    self->notify(self->context);
}

static void *run(void *argument)
{
    struct planner_thread *self = argument;
    for (;;) {
        uint64_t step = 0;
        switch (plan_store_choose(self->store, steps_away, self, &step)) {
        case PLAN_CHOICE_STEP:
            run_slice(self, step);
            break;
        case PLAN_CHOICE_REPORT:
            make_report(self);
            break;
        case PLAN_CHOICE_SNAPSHOT:
            make_snapshot(self);
            break;
        case PLAN_CHOICE_CHANGE:
            make_change(self);
            break;
        case PLAN_CHOICE_STOP:
            make_last_snapshot(self);
            return NULL;
        }
    }
}

static void dispose(struct planner_thread *self)
{
    planner_free(self->planner);
    checkpoints_fini(&self->checkpoints);
    step_plan_fini(&self->scratch);
    planner_state_fini(&self->state);
    planner_report_free(self->report);
    job_ledger_fini(&self->wanted);
    ledger_entry_fini(&self->change.entry);
    pthread_mutex_destroy(&self->report_lock);
    free(self);
}

static int open_job(struct planner_thread *self, const uint64_t *accept, struct error *err)
{
    if (accept && self->snapshots) {
        int failed = snapshots_accept(self->snapshots, self->config, self->corpus, *accept, err);
        if (failed)
            return failed;
    }
    const struct state_directory *directory = NULL;
    struct open_job job;
    int failed = self->snapshots ? snapshots_directory(self->snapshots, &directory, err) : 0;
    if (!failed)
        failed = job_open(self->config, self->corpus, directory, &job, err);
    if (failed)
        return failed;
    self->planner = job.planner;
    planner_watch_left_out(job.planner, on_left_out, self->store);
    failed = lineage_new(job.history, job.planner, NULL, &self->lineage, err);
    if (failed) {
        job_close(&job);
        self->planner = NULL;
    }
    return failed;
}

int planner_thread_start(const struct config *config, const struct corpus *corpus,
                         const struct planner_links *links, struct planner_thread **ret_thread,
                         struct lineage **ret_lineage, struct error *err)
{
    struct planner_thread *self = calloc(1, sizeof *self);
    if (!self)
        return error_memory(err, "starting the planner");
    self->config = config;
    self->corpus = corpus;
    self->store = links->store;
    self->snapshots = links->snapshots;
    self->notify = links->notify;
    self->context = links->context;
    checkpoints_init(&self->checkpoints);
    pthread_mutex_init(&self->report_lock, NULL);
    int failed = open_job(self, links->accept, err);
    if (!failed && self->snapshots)
        failed = snapshots_begin(self->snapshots, self->planner, corpus, self->lineage,
                                 &self->checkpoints, err);
    if (!failed)
        failed = checkpoints_add(&self->checkpoints, self->planner, err);
    if (!failed)
        plan_store_begin(self->store, planner_next_step(self->planner));
    struct lineage *lineage = self->lineage; /* before the planner is another thread's */
    if (!failed && links->opened)
        links->opened(links->context, self->planner);
    if (!failed && pthread_create(&self->thread, NULL, run, self) != 0)
        failed = error_set(err, EX_OSERR, "cannot start the planner thread");
    if (failed) {
        dispose(self);
        lineage_free(lineage);
        return failed;
    }
    *ret_lineage = lineage;
    *ret_thread = self;
    return 0;
}

int planner_thread_change(struct planner_thread *self, const struct ledger_entry *entry,
                          struct error *err)
{
    struct job_ledger wanted = { 0 };
    int failed = job_ledger_append(&wanted, entry, err);
    if (failed)
        return failed;
    pthread_mutex_lock(&self->report_lock);
    struct job_ledger old = self->wanted;
    self->wanted = wanted;
    pthread_mutex_unlock(&self->report_lock);
    job_ledger_fini(&old);
    plan_store_request_change(self->store);
    return 0;
}

bool planner_thread_take_change(struct planner_thread *self, struct planner_change *ret_change)
{
    pthread_mutex_lock(&self->report_lock);
    bool changed = self->changed;
    if (changed)
        *ret_change = self->change;
    self->change = (struct planner_change){ .error.code = 0 };
    self->changed = false;
    pthread_mutex_unlock(&self->report_lock);
    return changed;
}

struct planner_report *planner_thread_take_report(struct planner_thread *self)
{
    pthread_mutex_lock(&self->report_lock);
    struct planner_report *report = self->report;
    self->report = NULL;
    pthread_mutex_unlock(&self->report_lock);
    return report;
}

struct lineage *planner_thread_join(struct planner_thread *self)
{
    if (!self)
        return NULL;
    pthread_join(self->thread, NULL);
    struct lineage *lineage = self->lineage;
    dispose(self);
    return lineage;
}
