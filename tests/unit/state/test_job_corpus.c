/* Opening a job's corpus: with what ledgers drop, so that the job stays the one it was. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/settings.h"
#include "state/job_corpus.h"
#include "state/job_open.h"
#include "support/fault_sweep.h"
#include "support/shards.h"
#include "support/temp_dir.h"

enum { DOCUMENTS = 40, STEPS = 6 };

static struct temp_dir shards, state;
static struct state_directory directory;
static struct config *config;
static struct error err;

static void write_shards(void)
{
    static const char *const names[] = { "web-0", "web-1", "code-0", "code-1" };
    int32_t lengths[DOCUMENTS];
    char path[TEMP_PATH_BYTES];
    for (int i = 0; i < DOCUMENTS; i++)
        lengths[i] = 1 + i * 7 % 60;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        write_megatron(temp_path(&shards, names[i], path), MEGATRON_U16, lengths, DOCUMENTS);
}

static void make(void)
{
    char yaml[2048];
    err = (struct error){ 0 };
    shards = temp_dir_make();
    state = temp_dir_make();
    write_shards();
    int bytes = snprintf(yaml, sizeof yaml,
                         "job: test\ncontext_window: 64\nparallel: { dp: 2 }\nvocab_size: 256\n"
                         "cost: { crossover_tokens: 1024 }\nsources:\n"
                         "  - { name: web, format: megatron, paths: [\"%s/web-*.idx\"] }\n"
                         "  - { name: code, format: megatron, paths: [\"%s/code-*.idx\"] }\n",
                         shards.path, shards.path);
    cr_assert_eq(config_parse("test", yaml, (size_t)bytes, NULL, 0, &config, &err), 0, "%s",
                 err.text);
    directory = STATE_DIRECTORY_CLOSED(state.path);
    cr_assert_eq(state_directory_open(&directory, &err), 0);
    cr_assert_eq(state_directory_lock(&directory, &err), 0);
}

static void removed(void)
{
    state_directory_close(&directory);
    config_free(config);
    temp_dir_remove(&state);
    temp_dir_remove(&shards);
}

TestSuite(job_corpus, .init = make, .fini = removed);

static void lose_tokens(const char *name)
{
    char path[TEMP_PATH_BYTES];
    cr_assert_eq(unlink(temp_path(&shards, name, path)), 0);
}

static struct corpus *must_open(void)
{
    struct corpus *corpus = NULL;
    cr_assert_eq(job_corpus_open(config, &directory, NULL, NULL, &corpus, &err), 0, "%s", err.text);
    return corpus;
}

static void must_refuse(const struct state_directory *given, int code, const char *fragment)
{
    struct corpus *corpus = NULL;
    cr_assert_eq(job_corpus_open(config, given, NULL, NULL, &corpus, &err), code, "%s", err.text);
    cr_assert(strstr(err.text, fragment), "%s", err.text);
}

/* Writes the ledger of a job: of the one that the configuration makes, or of any other. */
static void write_ledger(struct digest job, const struct ledger_entry *entries, size_t count)
{
    struct job_ledger ledger = { .job = job };
    cr_assert_eq(config_settings(config, &ledger.settings, &err), 0, "%s", err.text);
    for (size_t i = 0; i < count; i++)
        cr_assert_eq(job_ledger_append(&ledger, &entries[i], &err), 0, "%s", err.text);
    cr_assert_eq(state_directory_write_ledger(&directory, &ledger, &err), 0, "%s", err.text);
    job_ledger_fini(&ledger);
}

static struct ledger_entry drop(uint64_t step, const char *source, uint32_t shard, const char *name)
{
    return (struct ledger_entry){ .kind = LEDGER_DROP,
                                  .step = step,
                                  .source = (char *)(uintptr_t)source,
                                  .shard = shard,
                                  .shard_name = (char *)(uintptr_t)name };
}

static const struct digest some_job = { { 1, 2, 3 } }, other_job = { { 0xff } };

/* ---- the same job ---- */

/* Opens corpus and job, and tells the digests of its first steps. */
static struct digest plan_steps(struct digest digests[STEPS], size_t *ret_unread)
{
    struct corpus *corpus = must_open();
    struct open_job job = { 0 };
    struct step_plan plan = { 0 };
    cr_assert_eq(job_open(config, corpus, &directory, &job, &err), 0, "%s", err.text);
    for (int step = 0; step < STEPS; step++) {
        cr_assert_eq(planner_step(job.planner, &plan, &err), PLANNER_STEP, "%s", err.text);
        digests[step] = plan.digest;
    }
    struct digest digest = planner_job_digest(job.planner);
    *ret_unread = corpus->sources[0].unread_count + corpus->sources[1].unread_count;
    step_plan_fini(&plan);
    job_close(&job);
    corpus_close(corpus);
    return digest;
}

Test(job_corpus, a_job_stays_what_it_was_without_the_tokens_it_dropped)
{
    struct digest before[STEPS], whole[STEPS], without[STEPS];
    size_t unread;
    struct digest job = plan_steps(before, &unread);
    struct ledger_entry entries[] = { drop(2, "web", 1, "web-1.idx"),
                                      drop(4, "code", 0, "code-0.idx") };
    write_ledger(job, entries, 2);
    cr_assert(digest_equal(plan_steps(whole, &unread), job));
    cr_assert_eq(unread, 0);
    lose_tokens("web-1.bin");
    lose_tokens("code-0.bin");
    cr_assert(digest_equal(plan_steps(without, &unread), job));
    cr_assert_eq(unread, 2);
    for (int step = 0; step < STEPS; step++)
        cr_assert(digest_equal(whole[step], without[step]), "step %d", step);
    cr_assert(digest_equal(before[1], without[1]), "nothing has changed before");
    cr_assert_not(digest_equal(before[2], without[2]));
}

Test(job_corpus, on_bad_shard_skip_does_not_make_it_another_one)
{
    struct digest digests[STEPS];
    size_t unread;
    struct digest job = plan_steps(digests, &unread);
    struct ledger_entry entry = drop(2, "web", 1, "web-1.idx");
    write_ledger(job, &entry, 1);
    lose_tokens("web-1.bin");
    for (unsigned i = 0; i < config->source_count; i++)
        config->sources[i].leave_out_bad = true;
    cr_assert(digest_equal(plan_steps(digests, &unread), job));
    cr_assert_eq(unread, 1);
}

/* ---- which ledgers count ---- */

Test(job_corpus, without_a_directory_nothing_is_dropped)
{
    struct ledger_entry entry = drop(2, "web", 1, "web-1.idx");
    struct state_directory closed = STATE_DIRECTORY_CLOSED(state.path);
    write_ledger(some_job, &entry, 1);
    lose_tokens("web-1.bin");
    must_refuse(NULL, EX_NOINPUT, "web-1.bin");
    must_refuse(&closed, EX_NOINPUT, "web-1.bin");
}

Test(job_corpus, without_a_ledger_nothing_is_dropped)
{
    lose_tokens("web-1.bin");
    must_refuse(&directory, EX_NOINPUT, "web-1.bin");
}

Test(job_corpus, every_ledger_and_every_entry_counts)
{
    struct ledger_entry entries[] = {
        { .kind = LEDGER_SKIP, .step = 1, .last_step = 2 },
        drop(3, "web", 0, "web-0.idx"),
        drop(3, "elsewhere", 0, "web-0.idx"),
        drop(5, "code", 0, "code-0.idx"),
    };
    struct ledger_entry other = drop(9, "web", 1, "web-1.idx");
    write_ledger(some_job, entries, 4);
    write_ledger(other_job, &other, 1);
    lose_tokens("web-0.bin");
    lose_tokens("web-1.bin");
    lose_tokens("code-0.bin");
    struct corpus *corpus = must_open();
    cr_assert_eq(corpus->sources[0].unread_count, 2);
    cr_assert_eq(corpus->sources[1].unread_count, 1);
    corpus_close(corpus);
    cr_assert(config->sources[0].dropped == NULL, "the configuration stays what it was");
}

Test(job_corpus, a_shard_of_another_source_is_not_dropped)
{
    struct ledger_entry entry = drop(2, "code", 1, "web-1.idx");
    write_ledger(some_job, &entry, 1);
    lose_tokens("web-1.bin");
    must_refuse(&directory, EX_NOINPUT, "source web");
}

/* ---- ledgers that cannot be read ---- */

static const char *ledger_path(struct digest job, char path[TEMP_PATH_BYTES])
{
    char text[DIGEST_TEXT_BYTES], name[DIGEST_TEXT_BYTES + 16];
    snprintf(name, sizeof name, "%s.ledger", digest_text(job, text));
    return temp_path(&state, name, path);
}

Test(job_corpus, torn_ledgers_are_passed_over)
{
    struct ledger_entry entry = drop(2, "web", 1, "web-1.idx");
    char path[TEMP_PATH_BYTES];
    write_ledger(other_job, &entry, 1);
    file_write(ledger_path(some_job, path), "ballast ledger 1\n", 17);
    lose_tokens("web-1.bin");
    corpus_close(must_open());
    cr_assert_eq(truncate(ledger_path(other_job, path), 60), 0);
    must_refuse(&directory, EX_NOINPUT, "web-1.bin");
}

/* Or the job would become another one, because of a disk that may be well the next moment. */
Test(job_corpus, a_ledger_that_cannot_be_opened_ends_it)
{
    char path[TEMP_PATH_BYTES];
    cr_assert_eq(symlink("/", ledger_path(some_job, path)), 0);
    must_refuse(&directory, EX_IOERR, ".ledger");
}

/* ---- memory ---- */

Test(job_corpus, every_allocation_may_fail)
{
    if (!fault_sweep_possible())
        cr_skip_test("the fault shim is not preloaded");
    struct ledger_entry entry = drop(2, "web", 1, "web-1.idx");
    write_ledger(some_job, &entry, 1);
    lose_tokens("web-1.bin");
    bool hit = true;
    unsigned long long at = 0;
    while (hit) {
        struct corpus *corpus = NULL;
        err = (struct error){ 0 };
        fault_sweep_arm(++at);
        int code = job_corpus_open(config, &directory, NULL, NULL, &corpus, &err);
        hit = fault_sweep_disarm();
        cr_assert_eq(code, code ? EX_OSERR : 0, "allocation %llu: %d, %s", at, code, err.text);
        cr_assert(hit || !code);
        cr_assert(code || corpus->sources[0].unread_count == 1);
        corpus_close(corpus);
    }
    cr_assert_gt(at, 20);
}
