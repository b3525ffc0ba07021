/* The state directory: what is written is found, one writes at a time, strangers are left alone. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state/snapshot.h"
#include "state/state_directory.h"
#include "support/temp_dir.h"

static struct temp_dir dir;
static struct state_directory directory;
static const struct digest ours = { { 1, 2, 3 } }, theirs = { { 0xff } };

static void make(void)
{
    dir = temp_dir_make();
    directory = STATE_DIRECTORY_CLOSED(dir.path);
}

static void removed(void)
{
    state_directory_close(&directory);
    temp_dir_remove(&dir);
}

TestSuite(state_directory, .init = make, .fini = removed);

static void open_locked(void)
{
    struct error err = { 0 };
    cr_assert_eq(state_directory_open(&directory, &err), 0, "%s", err.text);
    cr_assert_eq(state_directory_lock(&directory, &err), 0, "%s", err.text);
}

static void write_step(struct digest job, uint64_t step)
{
    struct planner_state state = { .next_step = step };
    struct error err = { 0 };
    void *bytes;
    size_t count;
    cr_assert_eq(snapshot_encode(&state, job, &bytes, &count, &err), 0);
    cr_assert_eq(state_directory_write(&directory, job, step, bytes, count, &err), 0, "%s",
                 err.text);
    free(bytes);
}

static bool exists(const char *name)
{
    char path[TEMP_PATH_BYTES];
    return access(temp_path(&dir, name, path), F_OK) == 0;
}

/* Runs out of descriptors for one call: as many may be open as are now. */
static int open_existing_without_descriptors(struct error *err)
{
    struct rlimit limit;
    int next = dup(0);
    cr_assert_geq(next, 0);
    close(next);
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    struct rlimit none = { (rlim_t)next, limit.rlim_max };
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    int status = state_directory_open_existing(&directory, err);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    return status;
}

Test(state_directory, one_that_is_not_there_is_not_one_that_cannot_be_looked_at)
{
    struct error err = { 0 };
    cr_assert_eq(open_existing_without_descriptors(&err), EX_OSERR, "%s", err.text);
    cr_assert_eq(state_directory_open_existing(&directory, &err), 0, "%s", err.text);
    state_directory_close(&directory);
    directory.path = "/nowhere/at/all";
    cr_assert_eq(state_directory_open_existing(&directory, &err), EX_NOINPUT, "%s", err.text);
    directory.path = dir.path;
}

Test(state_directory, lists_snapshots_by_job_and_step_and_reads_them)
{
    struct state_list list = { 0 };
    struct planner_state state = { 0 };
    struct error err = { 0 };
    open_locked();
    write_step(theirs, 7);
    write_step(ours, 1000);
    write_step(ours, 20);
    write_step(ours, UINT64_MAX);
    cr_assert_eq(state_directory_list(&directory, &list, &err), 0, "%s", err.text);
    const uint64_t steps[] = { 20, 1000, UINT64_MAX, 7 };
    cr_assert_eq(list.count, 4);
    for (size_t i = 0; i < 4; i++) {
        cr_assert_eq(list.entries[i].step, steps[i]);
        cr_assert_eq(state_directory_read(&directory, &list.entries[i], &state, &err), 0, "%s",
                     err.text);
        cr_assert_eq(state.next_step, steps[i]);
    }
    planner_state_fini(&state);
    state_list_fini(&list);
}

Test(state_directory, what_is_no_snapshot_is_not_listed_and_left_alone)
{
    static const char *const names[] = {
        "notes.txt",
        "0102030000000000000000000000000-00000000000000000007.snapshot",
        "0102030000000000000000000000000000-0000000000000000007.snapshot",
        "01020300000000000000000000000000-99999999999999999999.snapshot",
        "0102030000000000000000000000000A-00000000000000000007.snapshot",
        "01020300000000000000000000000000-0000000000000000000x.snapshot",
    };
    struct state_list list = { 0 };
    char path[TEMP_PATH_BYTES];
    open_locked();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        file_write(temp_path(&dir, names[i], path), "x", 1);
    cr_assert_eq(state_directory_list(&directory, &list, NULL), 0);
    cr_assert_eq(list.count, 0);
    cr_assert_eq(list.job_count, 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        cr_assert(exists(names[i]), "%s", names[i]);
    state_list_fini(&list);
}

Test(state_directory, torn_and_foreign_files_are_refused_by_name)
{
    static const char *const name =
        "01020300000000000000000000000000-00000000000000000020.snapshot";
    struct state_entry entry = { .job = ours, .step = 20 };
    struct planner_state state = { 0 };
    char path[TEMP_PATH_BYTES];
    size_t count;
    open_locked();
    write_step(ours, 20);
    temp_path(&dir, name, path);
    unsigned char *bytes = file_read_all(path, &count);
    struct error torn = { 0 }, foreign = { 0 }, link = { 0 }, gone = { 0 };
    file_write(path, bytes, count - 1);
    cr_assert_eq(state_directory_read(&directory, &entry, &state, &torn), EX_DATAERR);
    cr_assert(strstr(torn.text, name) && strstr(torn.text, "torn"), "%s", torn.text);
    bytes[0] = 'X';
    file_write(path, bytes, count);
    cr_assert_eq(state_directory_read(&directory, &entry, &state, &foreign), EX_DATAERR);
    cr_assert(strstr(foreign.text, "no snapshot"), "%s", foreign.text);
    bytes[0] = 'B';
    char other[TEMP_PATH_BYTES];
    file_write(
        temp_path(&dir, "01020300000000000000000000000000-00000000000000000021.snapshot", other),
        bytes, count);
    struct state_entry renamed = { .job = ours, .step = 21 };
    struct error err = { 0 };
    cr_assert_eq(state_directory_read(&directory, &renamed, &state, &err), EX_DATAERR);
    cr_assert(strstr(err.text, "disagree"), "%s", err.text);
    unlink(path);
    cr_assert_eq(symlink("/dev/zero", path), 0);
    cr_assert_neq(state_directory_read(&directory, &entry, &state, &link), 0);
    unlink(path);
    cr_assert_eq(state_directory_read(&directory, &entry, &state, &gone), EX_NOINPUT);
    free(bytes);
    planner_state_fini(&state);
}

Test(state_directory, one_writes_at_a_time_and_the_next_cleans_up)
{
    struct state_directory second = STATE_DIRECTORY_CLOSED(dir.path);
    struct error err = { 0 };
    char path[TEMP_PATH_BYTES];
    open_locked();
    cr_assert_eq(state_directory_open(&second, &err), 0);
    cr_assert_eq(state_directory_lock(&second, &err), EX_UNAVAILABLE);
    cr_assert(strstr(err.text, "another daemon"), "%s", err.text);
    file_write(temp_path(&dir, ".new-x.snapshot", path), "half", 4);
    state_directory_close(&directory);
    cr_assert_eq(state_directory_lock(&second, &err), 0, "%s", err.text);
    cr_assert(!exists(".new-x.snapshot"));
    state_directory_close(&second);
}

Test(state_directory, is_made_when_only_its_last_part_is_missing)
{
    char path[TEMP_PATH_BYTES], deep[TEMP_PATH_BYTES];
    struct error err = { 0 };
    directory.path = temp_path(&dir, "new", path);
    open_locked();
    struct state_directory missing = STATE_DIRECTORY_CLOSED(temp_path(&dir, "not/there", deep));
    cr_assert_eq(state_directory_open(&missing, &err), EX_CANTCREAT);
    cr_assert(strstr(err.text, "not/there"), "%s", err.text);
    state_directory_close(&missing);
    state_directory_close(&missing);
}

Test(state_directory, a_text_of_a_job_is_kept_whole_or_not_at_all)
{
    char path[TEMP_PATH_BYTES], *text = NULL;
    struct error err = { 0 };
    struct state_list list = { 0 };
    open_locked();
    cr_assert_eq(state_directory_read_job(&directory, ours, &text, &err), EX_NOINPUT);
    cr_assert_eq(state_directory_write_job(&directory, ours, "seed=1\n", &err), 0, "%s", err.text);
    cr_assert_eq(state_directory_write_job(&directory, ours, "seed=1\n", &err), 0);
    cr_assert_eq(state_directory_read_job(&directory, ours, &text, &err), 0);
    cr_assert_str_eq(text, "seed=1\n");
    free(text);
    cr_assert_eq(state_directory_list(&directory, &list, &err), 0);
    cr_assert_eq(list.job_count, 1);
    cr_assert(digest_equal(list.jobs[0].digest, ours));
    file_write(temp_path(&dir, "01020300000000000000000000000000.job", path), "seed=2\n", 7);
    cr_assert_eq(state_directory_read_job(&directory, ours, &text, &err), EX_DATAERR);
    cr_assert_eq(state_directory_write_job(&directory, ours, "seed=1\n", &err), 0, "it is mended");
    cr_assert_eq(state_directory_read_job(&directory, ours, &text, &err), 0);
    free(text);
    state_list_fini(&list);
}

static bool is_ours(const void *context, const struct state_entry *entry)
{
    (void)context;
    return digest_equal(entry->job, ours);
}

Test(state_directory, thins_one_job_and_leaves_the_others)
{
    struct state_list list = { 0 }, again = { 0 };
    open_locked();
    write_step(theirs, 5);
    for (uint64_t step = 100; step <= 2000; step += 100)
        write_step(ours, step);
    cr_assert_eq(state_directory_list(&directory, &list, NULL), 0);
    state_directory_thin(&directory, is_ours, NULL, 2000, &list);
    cr_assert_eq(state_directory_list(&directory, &again, NULL), 0);
    cr_assert_lt(list.count, 12);
    cr_assert_eq(again.count, list.count);
    for (size_t i = 0; i < list.count; i++)
        cr_assert_eq(again.entries[i].step, list.entries[i].step);
    cr_assert_eq(list.entries[list.count - 1].step, 5);
    cr_assert_eq(list.entries[list.count - 2].step, 2000);
    state_list_fini(&list);
    state_list_fini(&again);
}

static struct job_ledger ledger_of(struct digest job)
{
    struct job_ledger ledger = { .job = job, .settings = strdup("a=1\n") };
    struct ledger_entry entry = { .kind = LEDGER_SKIP, .step = 4, .last_step = 6 };
    cr_assert_eq(job_ledger_append(&ledger, &entry, NULL), 0);
    return ledger;
}

Test(state_directory, keeps_a_ledger_of_each_job)
{
    struct state_ledgers found = { 0 };
    struct job_ledger mine = ledger_of(ours), other = ledger_of(theirs), again = { 0 };
    struct error err = { 0 };
    open_locked();
    cr_assert_eq(state_directory_read_ledger(&directory, ours, &again, &err), EX_NOINPUT);
    cr_assert_eq(state_directory_write_ledger(&directory, &other, &err), 0, "%s", err.text);
    cr_assert_eq(state_directory_write_ledger(&directory, &mine, &err), 0, "%s", err.text);
    cr_assert_eq(state_directory_write_ledger(&directory, &mine, &err), 0, "%s", err.text);
    cr_assert_eq(state_directory_ledgers(&directory, &found, &err), 0, "%s", err.text);
    cr_assert_eq(found.count, 2);
    cr_assert(digest_equal(found.jobs[0], ours) && digest_equal(found.jobs[1], theirs));
    cr_assert_eq(state_directory_read_ledger(&directory, ours, &again, &err), 0, "%s", err.text);
    cr_assert_eq(again.count, 1);
    cr_assert_eq(again.entries[0].last_step, 6);
    free(found.jobs);
    job_ledger_fini(&again);
    job_ledger_fini(&mine);
    job_ledger_fini(&other);
}

#define OUR_LEDGER "01020300000000000000000000000000.ledger"
#define THEIR_LEDGER "ff000000000000000000000000000000.ledger"

Test(state_directory, a_ledger_that_is_torn_or_anothers_is_named)
{
    struct job_ledger mine = ledger_of(ours), again = { 0 };
    struct error err = { 0 };
    char path[TEMP_PATH_BYTES], other_path[TEMP_PATH_BYTES];
    open_locked();
    cr_assert_eq(state_directory_write_ledger(&directory, &mine, &err), 0, "%s", err.text);
    cr_assert_eq(
        rename(temp_path(&dir, OUR_LEDGER, path), temp_path(&dir, THEIR_LEDGER, other_path)), 0);
    cr_assert_eq(state_directory_read_ledger(&directory, theirs, &again, &err), EX_DATAERR);
    cr_assert(strstr(err.text, THEIR_LEDGER ": it is of another job"), "%s", err.text);
    job_ledger_fini(&again);
    cr_assert_eq(truncate(other_path, 40), 0);
    cr_assert_eq(state_directory_read_ledger(&directory, theirs, &again, &err), EX_DATAERR);
    cr_assert(strstr(err.text, "torn"), "%s", err.text);
    job_ledger_fini(&again);
    job_ledger_fini(&mine);
}
