/*
 * Snapshots under the planner's thread: a second life begins from the disk and plans the same, and
 * whatever the disk says, planning goes on.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/planner_thread.h"
#include "support/length_job.h"

#define YAML                                                                                       \
    "seed: %u\ncontext_window: 512\nmax_sequence_length: 1024\nparallel: { dp: 2, cp: 2, "         \
    "microbatches: 2 }\npacking: { policy: adaptive }\n"
#define EVERY 10

/* One life of a daemon, as far as planning goes. */
struct life {
    struct length_job job;
    uint32_t *lengths;
    struct log *log;
    int log_file;
    struct state_options options;
    struct snapshots *snapshots;
    struct plan_store *store;
    struct planner_thread *thread;
    struct lineage *lineage;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool news;
};

static struct temp_dir dir;

static void make(void)
{
    dir = temp_dir_make();
}

static void removed(void)
{
    temp_dir_remove(&dir);
}

TestSuite(snapshots, .init = make, .fini = removed, .timeout = 60);

static void notify(void *context)
{
    struct life *life = context;
    pthread_mutex_lock(&life->lock);
    life->news = true;
    pthread_cond_signal(&life->changed);
    pthread_mutex_unlock(&life->lock);
}

static void await_news(struct life *life)
{
    struct plan_news news;
    pthread_mutex_lock(&life->lock);
    while (!life->news)
        pthread_cond_wait(&life->changed, &life->lock);
    life->news = false;
    pthread_mutex_unlock(&life->lock);
    plan_store_news(life->store, &news);
}

static void open_log(struct life *life)
{
    char path[TEMP_PATH_BYTES];
    struct error err = { 0 };
    life->log_file = open(temp_path(&dir, "log", path), O_WRONLY | O_CREAT | O_APPEND, 0600);
    struct log_options options = { .fd = life->log_file, .level = LOG_LEVEL_INFO };
    cr_assert_eq(log_new(&options, &life->log, &err), 0, "%s", err.text);
}

static struct life *begin(unsigned seed)
{
    struct life *life = calloc(1, sizeof *life);
    struct error err = { 0 };
    char yaml[256], path[TEMP_PATH_BYTES];
    snprintf(yaml, sizeof yaml, YAML, seed);
    life->lengths = heavy_tailed_lengths(11, 300, 512);
    struct length_source source = { "a", 1, 0, life->lengths, 300 };
    life->job = length_job_open(yaml, &source, 1);
    pthread_mutex_init(&life->lock, NULL);
    pthread_cond_init(&life->changed, NULL);
    open_log(life);
    life->options = (struct state_options){ strdup(temp_path(&dir, "state", path)), EVERY };
    cr_assert_eq(snapshots_new(&life->options, life->log, notify, life, &life->snapshots, &err), 0);
    cr_assert_eq(plan_store_new(4, 0, 16, &life->store, &err), 0, "%s", err.text);
    struct planner_links links = {
        .store = life->store, .snapshots = life->snapshots, .notify = notify, .context = life
    };
    cr_assert_eq(planner_thread_start(life->job.config, life->job.corpus, &links, &life->thread,
                                      &life->lineage, &err),
                 0, "%s", err.text);
    return life;
}

static void end(struct life *life)
{
    plan_store_stop(life->store);
    struct lineage *lineage = planner_thread_join(life->thread);
    snapshots_free(life->snapshots);
    lineage_free(lineage);
    plan_store_free(life->store);
    log_free(life->log);
    close(life->log_file);
    free(life->options.directory);
    length_job_close(&life->job);
    free(life->lengths);
    pthread_cond_destroy(&life->changed);
    pthread_mutex_destroy(&life->lock);
    free(life);
}

static struct digest digest_of(struct life *life, uint64_t step)
{
    struct shared_plan *plan = NULL;
    bool wanted = plan_store_get_or_want(life->store, step, &plan) == PLAN_WANTED;
    while (wanted && !(plan = plan_store_peek(life->store, step)))
        await_news(life);
    if (wanted)
        plan_store_unwant(life->store, step);
    struct digest digest = plan->plan.digest;
    shared_plan_unref(plan);
    return digest;
}

static struct snapshots_answer ask(struct life *life)
{
    struct snapshots_answer answer;
    plan_store_request_snapshot(life->store);
    while (!snapshots_take_answer(life->snapshots, &answer))
        await_news(life);
    return answer;
}

static uint64_t made(struct life *life)
{
    struct plan_store_facts facts;
    plan_store_facts(life->store, &facts);
    return facts.made;
}

static char *log_text_of(void)
{
    char path[TEMP_PATH_BYTES];
    size_t count;
    return (char *)file_read_all(temp_path(&dir, "log", path), &count);
}

Test(snapshots, a_second_life_begins_from_the_disk)
{
    struct life *life = begin(9);
    struct digest step_700 = digest_of(life, 700), step_698 = digest_of(life, 698);
    plan_store_front(life->store, 695);
    struct snapshots_answer answer = ask(life);
    cr_assert_eq(answer.error.code, 0, "%s", answer.error.text);
    cr_assert_eq(answer.step, 695, "where the job stands, not where the planner is");
    end(life);
    life = begin(9);
    struct snapshots_facts facts;
    snapshots_facts(life->snapshots, &facts);
    cr_assert_geq(facts.loaded, 1);
    cr_assert_eq(facts.skipped, 0);
    plan_store_front(life->store, 695);
    cr_assert(digest_equal(digest_of(life, 700), step_700));
    cr_assert(digest_equal(digest_of(life, 698), step_698));
    cr_assert_lt(made(life), 100);
    end(life);
}

Test(snapshots, steps_behind_the_job_are_not_saved_again)
{
    struct life *life = begin(9);
    struct snapshots_facts before, after;
    digest_of(life, 500);
    plan_store_front(life->store, 500);
    ask(life);
    snapshots_facts(life->snapshots, &before);
    digest_of(life, 100);
    struct snapshots_front front = { true, 500 };
    cr_assert(!snapshots_due(life->snapshots, 100, front));
    cr_assert(!snapshots_due(life->snapshots, 501, front), "no multiple");
    cr_assert(!snapshots_due(life->snapshots, 0, front));
    cr_assert(!snapshots_due(life->snapshots, 500, front), "it is there");
    cr_assert(snapshots_due(life->snapshots, 5000, front));
    ask(life);
    snapshots_facts(life->snapshots, &after);
    cr_assert_leq(after.written - before.written, 2);
    cr_assert_eq(after.errors, 0);
    end(life);
}

Test(snapshots, what_has_changed_is_known_and_told)
{
    struct life *life = begin(9);
    struct digest job;
    ask(life);
    cr_assert_null(snapshots_last_difference(life->snapshots));
    cr_assert_null(snapshots_difference(life->snapshots, (struct digest){ { 1 } }));
    struct planner *planner;
    cr_assert_eq(planner_new(life->job.config, life->job.corpus, &planner, NULL), 0);
    job = planner_job_digest(planner);
    planner_free(planner);
    end(life);
    life = begin(10);
    cr_assert_str_eq(snapshots_difference(life->snapshots, job), "seed=9 -> seed=10");
    cr_assert_str_eq(snapshots_last_difference(life->snapshots), "seed=9 -> seed=10");
    end(life);
}

/* As a policy that cannot take the state of an older version would. */
Test(snapshots, a_state_that_does_not_fit_is_skipped_and_another_is_used)
{
    char path[TEMP_PATH_BYTES], command[2 * TEMP_PATH_BYTES];
    struct life *life = begin(9);
    struct digest expected = digest_of(life, 40);
    plan_store_front(life->store, 41);
    cr_assert_eq(ask(life).error.code, 0);
    end(life);
    temp_path(&dir, "state", path);
    snprintf(command, sizeof command, "for f in %.200s/*41.snapshot; do printf x >> $f; done",
             path);
    cr_assert_eq(system(command), 0);
    life = begin(9);
    struct snapshots_facts facts;
    snapshots_facts(life->snapshots, &facts);
    cr_assert_eq(facts.skipped, 1);
    cr_assert(digest_equal(digest_of(life, 40), expected));
    char *text = log_text_of();
    cr_assert(strstr(text, "snapshot skipped") && strstr(text, "41.snapshot"), "%s", text);
    free(text);
    end(life);
}

Test(snapshots, a_directory_that_is_a_file_is_told_once_and_planning_goes_on)
{
    char path[TEMP_PATH_BYTES];
    file_write(temp_path(&dir, "state", path), "x", 1);
    struct life *life = begin(9);
    digest_of(life, 300);
    cr_assert_eq(ask(life).error.code, EX_CANTCREAT);
    cr_assert_eq(ask(life).error.code, EX_CANTCREAT);
    struct snapshots_facts facts;
    snapshots_facts(life->snapshots, &facts);
    cr_assert_geq(facts.errors, 2);
    cr_assert_eq(facts.written, 0);
    unlink(path);
    struct snapshots_answer answer = ask(life);
    cr_assert_eq(answer.error.code, 0, "%s", answer.error.text);
    char *text = log_text_of();
    char *first = strstr(text, "no snapshot written");
    cr_assert(first && !strstr(first + 1, "no snapshot written"), "%s", text);
    cr_assert(strstr(text, "snapshots are written again"), "%s", text);
    free(text);
    end(life);
}

/* Planned long before, and by another life again. */
Test(snapshots, a_change_of_the_ledger_is_written_and_overrules_what_follows)
{
    struct life *life = begin(9);
    struct ledger_entry skip = { .kind = LEDGER_SKIP, .step = 10, .last_step = 509 };
    struct planner_change change;
    struct plan_store_facts before, after;
    struct error err = { 0 };
    struct digest step_9 = digest_of(life, 9), step_30 = digest_of(life, 30);
    cr_assert_eq(planner_thread_change(life->thread, &skip, &err), 0);
    while (!planner_thread_take_change(life->thread, &change))
        await_news(life);
    cr_assert_eq(change.error.code, 0, "%s", change.error.text);
    cr_assert_eq(change.entry.step, 10);
    cr_assert_eq(lineage_entries(change.lineage), 1);
    cr_assert_not(planner_thread_take_change(life->thread, &change), "once");
    plan_store_facts(life->store, &before);
    cr_assert(digest_equal(digest_of(life, 9), step_9));
    struct digest changed = digest_of(life, 30);
    cr_assert_not(digest_equal(changed, step_30));
    plan_store_facts(life->store, &after);
    cr_assert_geq(after.slices - before.slices, 500, "signs of life on the way");
    end(life);

    life = begin(9);
    cr_assert_eq(lineage_entries(life->lineage), 1);
    cr_assert(digest_equal(digest_of(life, 30), changed));
    end(life);
}

Test(snapshots, a_change_that_cannot_be_leaves_everything_as_it_was)
{
    struct life *life = begin(9);
    struct ledger_entry reshape = { .kind = LEDGER_RESHAPE,
                                    .step = 10,
                                    .settings = (char *)(size_t) "context_window=0\n" };
    struct planner_change change;
    struct error err = { 0 };
    struct digest step_30 = digest_of(life, 30);
    cr_assert_eq(planner_thread_change(life->thread, &reshape, &err), 0);
    while (!planner_thread_take_change(life->thread, &change))
        await_news(life);
    cr_assert_eq(change.error.code, EX_CONFIG, "%s", change.error.text);
    cr_assert_eq(lineage_entries(change.lineage), 0);
    cr_assert(digest_equal(digest_of(life, 30), step_30));
    end(life);
}
