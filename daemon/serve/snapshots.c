/* What is written, by a thread of its own, and the sides of those who have it written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/snapshots_state.h"
#include "state/snapshot.h"

int snapshots_new(const struct state_options *options, struct log *log, snapshots_notify *notify,
                  void *context, struct snapshots **ret_snapshots, struct error *err)
{
    struct snapshots *self = calloc(1, sizeof *self);
    if (!self)
        return error_memory(err, "preparing snapshots");
    self->options = options;
    self->log = log;
    self->notify = notify;
    self->context = context;
    self->directory = STATE_DIRECTORY_CLOSED(options->directory);
    pthread_mutex_init(&self->lock, NULL);
    pthread_mutex_init(&self->disk, NULL);
    pthread_cond_init(&self->work, NULL);
    *ret_snapshots = self;
    return 0;
}

/* ---- the log ---- */

void snapshots_tell(struct snapshots *self, enum log_level level, const char *what,
                    const struct error *err)
{
    log_write(self->log, level, what,
              (struct log_field[]){ log_text("directory", self->options->directory),
                                    log_text("error", err->text), log_end() });
}

void snapshots_tell_trouble(struct snapshots *self, const struct error *err)
{
    if (strcmp(self->told, err->text) == 0)
        return;
    memcpy(self->told, err->text, sizeof self->told);
    snapshots_tell(self, LOG_LEVEL_ERROR, "no snapshot written; serving goes on", err);
}

static void tell_recovery(struct snapshots *self, uint64_t step)
{
    if (!self->told[0])
        return;
    self->told[0] = '\0';
    log_write(self->log, LOG_LEVEL_INFO, "snapshots are written again",
              (struct log_field[]){ log_uint("step", step), log_end() });
}

/* ---- the directory ---- */

/* What the ledger has come to has a digest of its own, under which others may ask for it. */
static void describe_last(struct snapshots *self, const struct lineage *lineage, const char *text)
{
    size_t bytes = strlen(text) + 64;
    free(self->last_text);
    self->last_text = lineage_is_plain(lineage) ? NULL : malloc(bytes);
    if (self->last_text)
        snprintf(self->last_text, bytes, "%sledger entries=%zu\n", text, lineage_entries(lineage));
}

/* A directory that was moved away has taken the ledger along. */
static int bring_ledger(struct snapshots *self, struct error *err)
{
    const struct lineage *lineage = self->lineage;
    const struct job_ledger *ours = &lineage->history->ledger;
    struct job_ledger there = { 0 };
    if (lineage_is_plain(lineage))
        return 0;
    int failed = state_directory_read_ledger(&self->directory, self->job, &there, NULL);
    job_ledger_fini(&there);
    return failed == EX_NOINPUT ? state_directory_write_ledger(&self->directory, ours, err) : 0;
}

int snapshots_begin_to_write(struct snapshots *self, struct error *err)
{
    int failed = state_directory_open(&self->directory, err);
    bool anew = self->directory.lock < 0;
    if (!failed)
        failed = state_directory_lock(&self->directory, err);
    if (!failed)
        failed = state_directory_write_job(&self->directory, self->job, self->job_text, err);
    if (!failed && self->last_text)
        failed = state_directory_write_job(
            &self->directory, lineage_digest(self->lineage, UINT64_MAX), self->last_text, err);
    if (!failed && anew)
        failed = bring_ledger(self, err);
    return failed;
}

bool snapshots_is_ours(const void *lineage, const struct state_entry *entry)
{
    return digest_equal(entry->job, lineage_before(lineage, entry->step));
}

/* ---- the planner's side ---- */

/* With the lock held: the furthest step of the job on disk or on its way there; 0: none. */
static uint64_t furthest(const struct snapshots *self)
{
    uint64_t step =
        self->next.bytes && self->next.step > self->writing ? self->next.step : self->writing;
    for (size_t i = 0; i < self->on_disk.count; i++)
        if (snapshots_is_ours(self->lineage, &self->on_disk.entries[i]) &&
            self->on_disk.entries[i].step > step)
            step = self->on_disk.entries[i].step;
    return step;
}

static bool holds(const struct snapshots *self, uint64_t step)
{
    if (step == self->writing || (self->next.bytes && self->next.step == step))
        return true;
    for (size_t i = 0; i < self->on_disk.count; i++)
        if (self->on_disk.entries[i].step == step &&
            snapshots_is_ours(self->lineage, &self->on_disk.entries[i]))
            return true;
    return false;
}

/* Steps that are planned again, behind the job, are as well off as when they were planned first. */
bool snapshots_due(struct snapshots *self, uint64_t next_step, struct snapshots_front front)
{
    uint64_t every = self->options->snapshot_every;
    if (next_step == 0 || next_step % every != 0)
        return false;
    pthread_mutex_lock(&self->lock);
    bool news = next_step > furthest(self) || (front.known && next_step + every > front.step);
    bool due = news && !holds(self, next_step);
    pthread_mutex_unlock(&self->lock);
    return due;
}

/* With the lock held. */
static void answer(struct snapshots *self, const struct error *error, uint64_t step, uint64_t bytes)
{
    self->answer = (struct snapshots_answer){ .step = step, .bytes = bytes };
    if (error)
        self->answer.error = *error;
    self->answered = true;
}

void snapshots_refuse(struct snapshots *self, const struct error *why)
{
    pthread_mutex_lock(&self->lock);
    self->facts.errors++;
    answer(self, why, 0, 0);
    pthread_mutex_unlock(&self->lock);
    self->notify(self->context);
}

void snapshots_offer(struct snapshots *self, const struct planner_state *state,
                     struct snapshots_front front, bool asked)
{
    struct error why = { 0 };
    struct parcel parcel = { .step = state->next_step,
                             .job = lineage_before(self->lineage, state->next_step),
                             .front = front,
                             .asked = asked };
    if (snapshot_encode(state, parcel.job, &parcel.bytes, &parcel.count, &why)) {
        snapshots_refuse(self, &why);
        return;
    }
    pthread_mutex_lock(&self->lock);
    parcel.asked |= self->next.bytes && self->next.asked;
    free(self->next.bytes);
    self->next = parcel;
    pthread_cond_signal(&self->work);
    pthread_mutex_unlock(&self->lock);
}

int snapshots_write_ledger(struct snapshots *self, const struct job_ledger *ledger,
                           struct error *err)
{
    pthread_mutex_lock(&self->disk);
    int failed = snapshots_begin_to_write(self, err);
    if (!failed)
        failed = state_directory_write_ledger(&self->directory, ledger, err);
    pthread_mutex_unlock(&self->disk);
    return failed;
}

void snapshots_follow(struct snapshots *self, const struct lineage *lineage, const char *text)
{
    pthread_mutex_lock(&self->disk);
    pthread_mutex_lock(&self->lock);
    self->lineage = lineage;
    pthread_mutex_unlock(&self->lock);
    describe_last(self, lineage, text);
    snapshots_begin_to_write(self, NULL);
    pthread_mutex_unlock(&self->disk);
}

/* ---- the writer's thread ---- */

static int write_parcel(struct snapshots *self, const struct parcel *parcel, struct error *err)
{
    int failed = snapshots_begin_to_write(self, err);
    if (!failed)
        failed = state_directory_write(&self->directory, parcel->job, parcel->step, parcel->bytes,
                                       parcel->count, err);
    return failed;
}

/* Before trainers have come, the furthest snapshot is the best guess at where they are. */
static uint64_t centre_of(const struct parcel *parcel, const struct state_list *list,
                          const struct lineage *lineage)
{
    uint64_t centre = parcel->front.known ? parcel->front.step : parcel->step;
    for (size_t i = 0; i < list->count && !parcel->front.known; i++)
        if (snapshots_is_ours(lineage, &list->entries[i]) && list->entries[i].step > centre)
            centre = list->entries[i].step;
    return centre;
}

/* Lists the directory anew, and thins. With the disk held. */
static void tidy(struct snapshots *self, const struct parcel *parcel)
{
    struct state_list list = { 0 };
    const struct lineage *lineage = self->lineage;
    if (state_directory_list(&self->directory, &list, NULL) == 0) {
        state_directory_thin(&self->directory, snapshots_is_ours, lineage,
                             centre_of(parcel, &list, lineage), &list);
        pthread_mutex_lock(&self->lock);
        struct state_list old = self->on_disk;
        self->on_disk = list;
        pthread_mutex_unlock(&self->lock);
        list = old;
    }
    state_list_fini(&list);
}

static void deliver(struct snapshots *self, struct parcel *parcel)
{
    struct error why = { 0 };
    pthread_mutex_lock(&self->disk);
    int failed = write_parcel(self, parcel, &why);
    if (failed) {
        snapshots_tell_trouble(self, &why);
    } else {
        tell_recovery(self, parcel->step);
        tidy(self, parcel);
    }
    pthread_mutex_unlock(&self->disk);
    pthread_mutex_lock(&self->lock);
    self->writing = 0;
    if (failed) {
        self->facts.errors++;
    } else {
        self->facts.written++;
        self->facts.any = true;
        self->facts.last_step = parcel->step;
    }
    if (parcel->asked)
        answer(self, failed ? &why : NULL, parcel->step, parcel->count);
    pthread_mutex_unlock(&self->lock);
    if (parcel->asked)
        self->notify(self->context);
    free(parcel->bytes);
}

/* False when there is nothing left to write and it is time to end. */
static bool await_parcel(struct snapshots *self, struct parcel *ret_parcel)
{
    pthread_mutex_lock(&self->lock);
    while (!self->next.bytes && !self->stop)
        pthread_cond_wait(&self->work, &self->lock);
    *ret_parcel = self->next;
    self->next = (struct parcel){ 0 };
    self->writing = ret_parcel->step;
    pthread_mutex_unlock(&self->lock);
    return ret_parcel->bytes != NULL;
}

static void *run(void *argument)
{
    struct snapshots *self = argument;
    struct parcel parcel;
    while (await_parcel(self, &parcel))
        deliver(self, &parcel);
    return NULL;
}

/* ---- the loop's side ---- */

bool snapshots_take_answer(struct snapshots *self, struct snapshots_answer *ret_answer)
{
    pthread_mutex_lock(&self->lock);
    bool answered = self->answered;
    if (answered)
        *ret_answer = self->answer;
    self->answered = false;
    pthread_mutex_unlock(&self->lock);
    return answered;
}

void snapshots_facts(struct snapshots *self, struct snapshots_facts *ret_facts)
{
    pthread_mutex_lock(&self->lock);
    *ret_facts = self->facts;
    pthread_mutex_unlock(&self->lock);
}

const char *snapshots_difference(const struct snapshots *self, struct digest job)
{
    return former_jobs_difference(&self->former, job);
}

const char *snapshots_last_difference(const struct snapshots *self)
{
    return former_jobs_last_difference(&self->former);
}

/* ---- begin and end ---- */

int snapshots_begin(struct snapshots *self, struct planner *planner, const struct corpus *corpus,
                    const struct lineage *lineage, struct checkpoints *checkpoints,
                    struct error *err)
{
    self->lineage = lineage;
    self->job = planner_job_digest(planner);
    self->job_text = strdup(planner_job_text(planner));
    if (!self->job_text)
        return error_memory(err, "preparing snapshots");
    describe_last(self, lineage, planner_last_job_text(planner));
    int failed = snapshots_load(self, planner, corpus, checkpoints, err);
    if (failed)
        return failed;
    if (pthread_create(&self->writer, NULL, run, self) != 0)
        return error_set(err, EX_OSERR, "cannot start the thread that writes snapshots");
    self->running = true;
    return 0;
}

void snapshots_free(struct snapshots *self)
{
    if (!self)
        return;
    pthread_mutex_lock(&self->lock);
    self->stop = true;
    pthread_cond_signal(&self->work);
    pthread_mutex_unlock(&self->lock);
    if (self->running)
        pthread_join(self->writer, NULL);
    state_directory_close(&self->directory);
    state_list_fini(&self->on_disk);
    pthread_cond_destroy(&self->work);
    pthread_mutex_destroy(&self->lock);
    pthread_mutex_destroy(&self->disk);
    free(self->next.bytes);
    free(self->job_text);
    free(self->last_text);
    free(self);
}
