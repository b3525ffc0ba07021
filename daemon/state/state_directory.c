#include "state/state_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/again.h"
#include "base/grow.h"
#include "state/job_file.h"
#include "state/snapshot.h"
#include "state/state_file.h"
#include "state/thinning.h"

#define NAME_BYTES 96
#define JOB_DIGITS ((size_t)2 * DIGEST_BYTES)
#define STEP_DIGITS ((size_t)20)
#define SNAPSHOT_SUFFIX ".snapshot"
#define JOB_SUFFIX ".job"
#define LEDGER_SUFFIX ".ledger"
#define MOST_ENTRIES 65536u

/* ---- names ---- */

static const char *snapshot_name(const struct state_entry *entry, char name[NAME_BYTES])
{
    char job[DIGEST_TEXT_BYTES];
    snprintf(name, NAME_BYTES, "%s-%020llu" SNAPSHOT_SUFFIX, digest_text(entry->job, job),
             (unsigned long long)entry->step);
    return name;
}

static const char *name_with(struct digest job, const char *suffix, char name[NAME_BYTES])
{
    char text[DIGEST_TEXT_BYTES];
    snprintf(name, NAME_BYTES, "%s%s", digest_text(job, text), suffix);
    return name;
}

static const char *job_name(struct digest job, char name[NAME_BYTES])
{
    return name_with(job, JOB_SUFFIX, name);
}

static bool parse_digest(const char *text, struct digest *ret_digest)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < JOB_DIGITS; i++) {
        const char *digit = text[i] ? strchr(digits, text[i]) : NULL;
        if (!digit)
            return false;
        unsigned char *byte = &ret_digest->bytes[i / 2];
        *byte = (unsigned char)((i % 2 ? *byte << 4 : 0) | (digit - digits));
    }
    return true;
}

/* Only what snapshot_name gives is taken: reading it back must give the same. */
static bool parse_name(const char *name, struct state_entry *ret_entry)
{
    struct state_entry entry = { 0 };
    char again[NAME_BYTES];
    if (strlen(name) != JOB_DIGITS + 1 + STEP_DIGITS + strlen(SNAPSHOT_SUFFIX) ||
        !parse_digest(name, &entry.job))
        return false;
    entry.step = strtoull(name + JOB_DIGITS + 1, NULL, 10);
    if (strcmp(snapshot_name(&entry, again), name) != 0)
        return false;
    *ret_entry = entry;
    return true;
}

/* A job's digest and this suffix, nothing else. */
static bool parse_name_with(const char *name, const char *suffix, struct digest *ret_job)
{
    return strlen(name) == JOB_DIGITS + strlen(suffix) && strcmp(name + JOB_DIGITS, suffix) == 0 &&
           parse_digest(name, ret_job);
}

/* ---- the directory ---- */

/* Does the path still lead to what is open? It may have been removed, moved or mounted over. */
static bool still_there(const struct state_directory *directory)
{
    struct stat open, there;
    return fstat(directory->fd, &open) == 0 && stat(directory->path, &there) == 0 &&
           open.st_ino == there.st_ino && open.st_dev == there.st_dev;
}

/* What has run out or broken down may hide a ledger; what is not there holds none. */
static int refusal_of(int cause, int not_there)
{
    if (cause == EIO)
        return EX_IOERR;
    return error_of_input(cause) == EX_OSERR ? EX_OSERR : not_there;
}

int state_directory_open(struct state_directory *directory, struct error *err)
{
    if (directory->fd >= 0 && still_there(directory))
        return 0;
    state_directory_close(directory);
    const char *path = directory->path;
    int fd = open_again(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0 && errno == ENOENT && mkdir(path, 0750) == 0)
        fd = open_again(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0)
        return error_set(err, refusal_of(errno, EX_CANTCREAT),
                         "state.directory: cannot open %s: %s; make it, readable and writable by "
                         "this user",
                         path, strerror(errno));
    directory->fd = fd;
    return 0;
}

int state_directory_open_existing(struct state_directory *directory, struct error *err)
{
    directory->fd = open_again(directory->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (directory->fd >= 0)
        return 0;
    return error_set(err, refusal_of(errno, EX_NOINPUT), "cannot open the state directory %s: %s",
                     directory->path, strerror(errno));
}

static void remove_left_over(int fd)
{
    int copy = openat_again(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    DIR *list = copy < 0 ? NULL : fdopendir(copy);
    if (!list) {
        if (copy >= 0)
            close(copy);
        return;
    }
    for (struct dirent *entry; (entry = readdir(list));)
        if (strncmp(entry->d_name, STATE_FILE_TEMPORARY, strlen(STATE_FILE_TEMPORARY)) == 0)
            unlinkat(fd, entry->d_name, 0);
    closedir(list);
}

int state_directory_lock(struct state_directory *directory, struct error *err)
{
    if (directory->lock >= 0)
        return 0;
    int lock = openat_again(directory->fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
    int failed = lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0 ? errno : 0;
    if (!failed) {
        directory->lock = lock;
        remove_left_over(directory->fd);
        return 0;
    }
    if (lock >= 0)
        close(lock);
    if (failed == EWOULDBLOCK)
        return error_set(err, EX_UNAVAILABLE,
                         "state.directory: another daemon writes in %s; give this one another",
                         directory->path);
    return error_set(err, EX_CANTCREAT,
                     "state.directory: cannot write in %s: %s; make it writable by this user",
                     directory->path, strerror(failed));
}

void state_directory_close(struct state_directory *directory)
{
    if (directory->lock >= 0)
        close(directory->lock);
    if (directory->fd >= 0)
        close(directory->fd);
    directory->lock = directory->fd = -1;
}

/* ---- listing ---- */

static int compare(const void *one, const void *other)
{
    const struct state_entry *a = one, *b = other;
    int order = memcmp(a->job.bytes, b->job.bytes, DIGEST_BYTES);
    return order ? order : (a->step > b->step) - (a->step < b->step);
}

static int add_job(struct state_list *list, int fd, const char *name, struct error *err)
{
    struct state_job job = { 0 };
    struct stat status;
    if (list->job_count == MOST_ENTRIES || !parse_name_with(name, JOB_SUFFIX, &job.digest))
        return 0;
    if (fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0)
        job.served_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    if (!grow(list->jobs, &list->job_capacity, list->job_count + 1))
        return error_memory(err, "reading the state directory");
    list->jobs[list->job_count++] = job;
    return 0;
}

static int add_entry(struct state_list *list, int fd, const char *name, struct error *err)
{
    struct state_entry entry;
    struct stat status;
    if (!parse_name(name, &entry))
        return add_job(list, fd, name, err);
    if (list->count == MOST_ENTRIES)
        return 0;
    if (fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0)
        entry.bytes = (uint64_t)status.st_size;
    if (!grow(list->entries, &list->capacity, list->count + 1))
        return error_memory(err, "reading the state directory");
    list->entries[list->count++] = entry;
    return 0;
}

static int open_list(const struct state_directory *directory, DIR **ret_stream, struct error *err)
{
    int copy = openat_again(directory->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    *ret_stream = copy < 0 ? NULL : fdopendir(copy);
    if (*ret_stream)
        return 0;
    int why = errno;
    if (copy >= 0)
        close(copy);
    return error_set(err, refusal_of(why, EX_IOERR), "state.directory: cannot list %s: %s",
                     directory->path, strerror(why));
}

/* NULL at the end. */
static int next_name(const struct state_directory *directory, DIR *stream, const char **ret_name,
                     struct error *err)
{
    errno = 0;
    const struct dirent *entry = readdir(stream);
    if (!entry && errno)
        return error_set(err, EX_IOERR, "state.directory: cannot list %s: %s", directory->path,
                         strerror(errno));
    *ret_name = entry ? entry->d_name : NULL;
    return 0;
}

int state_directory_list(const struct state_directory *directory, struct state_list *list,
                         struct error *err)
{
    DIR *stream;
    list->count = list->job_count = 0;
    int failed = open_list(directory, &stream, err);
    if (failed)
        return failed;
    for (const char *name;
         !failed && (failed = next_name(directory, stream, &name, err)) == 0 && name;)
        failed = add_entry(list, directory->fd, name, err);
    closedir(stream);
    if (!failed && list->count)
        qsort(list->entries, list->count, sizeof *list->entries, compare);
    return failed;
}

void state_list_fini(struct state_list *list)
{
    free(list->entries);
    free(list->jobs);
    *list = (struct state_list){ 0 };
}

/* ---- snapshots ---- */

int state_directory_read(const struct state_directory *directory, const struct state_entry *entry,
                         struct planner_state *state, struct error *err)
{
    char name[NAME_BYTES];
    unsigned char *bytes = NULL;
    size_t count = 0;
    struct digest job;
    int failed = state_file_read(directory->fd, snapshot_name(entry, name), SNAPSHOT_MOST_BYTES,
                                 &bytes, &count, err);
    if (failed)
        return failed;
    failed = snapshot_decode(bytes, count, state, &job, err);
    free(bytes);
    if (failed) {
        error_prefix(err, "%s", name);
        return failed;
    }
    if (!digest_equal(job, entry->job) || state->next_step != entry->step)
        return error_set(err, EX_DATAERR, "%s: its name and its content disagree: foreign", name);
    return 0;
}

int state_directory_write(const struct state_directory *directory, struct digest job, uint64_t step,
                          const void *bytes, size_t count, struct error *err)
{
    char name[NAME_BYTES];
    struct state_entry entry = { .job = job, .step = step };
    return state_file_write(directory->fd, snapshot_name(&entry, name), bytes, count, err);
}

static int compare_items(const void *one, const void *other)
{
    const struct thinning_item *a = one, *b = other;
    return (a->step > b->step) - (a->step < b->step);
}

/* Of one job no two snapshots are of the same step. */
static bool kept(const struct thinning_item *items, size_t count, uint64_t step)
{
    const struct thinning_item wanted = { .step = step };
    const struct thinning_item *found =
        bsearch(&wanted, items, count, sizeof *items, compare_items);
    return !found || found->keep;
}

void state_directory_thin(const struct state_directory *directory, state_is_ours *ours,
                          const void *context, uint64_t centre, struct state_list *list)
{
    char name[NAME_BYTES];
    struct thinning_item *items = list->count ? calloc(list->count, sizeof *items) : NULL;
    if (!items)
        return;
    size_t count = 0, left = 0;
    for (size_t i = 0; i < list->count; i++)
        if (ours(context, &list->entries[i]))
            items[count++] = (struct thinning_item){ .step = list->entries[i].step,
                                                     .bytes = list->entries[i].bytes };
    if (count)
        qsort(items, count, sizeof *items, compare_items);
    thinning_choose(items, count, centre);
    for (size_t i = 0; i < list->count; i++) {
        struct state_entry entry = list->entries[i];
        bool stays = !ours(context, &entry) || kept(items, count, entry.step);
        if (stays || unlinkat(directory->fd, snapshot_name(&entry, name), 0) != 0)
            list->entries[left++] = entry;
    }
    list->count = left;
    free(items);
}

/* ---- jobs: the text, and its checksum in a last line ---- */

static struct digest text_sum(const char *text, size_t count)
{
    return digest_chain((struct digest){ 0 }, text, count);
}

static int check_text(const char *name, const char *text, size_t count, size_t *ret_count,
                      struct error *err)
{
    struct digest found;
    size_t tail = JOB_DIGITS + 1;
    if (count < tail || memchr(text, 0, count) || !parse_digest(text + count - tail, &found) ||
        !digest_equal(found, text_sum(text, count - tail)))
        return error_set(err, EX_DATAERR, "%s: its checksum is wrong: torn or damaged", name);
    *ret_count = count - tail;
    return 0;
}

int state_directory_read_job(const struct state_directory *directory, struct digest job,
                             char **ret_text, struct error *err)
{
    char name[NAME_BYTES];
    unsigned char *bytes = NULL;
    size_t count = 0;
    int failed = state_file_read(directory->fd, job_name(job, name), JOB_FILE_MOST_BYTES, &bytes,
                                 &count, err);
    if (failed)
        return failed;
    failed = check_text(name, (const char *)bytes, count, &count, err);
    if (failed) {
        free(bytes);
        return failed;
    }
    bytes[count] = 0;
    *ret_text = (char *)bytes;
    return 0;
}

int state_directory_write_job(const struct state_directory *directory, struct digest job,
                              const char *text, struct error *err)
{
    char name[NAME_BYTES], sum[DIGEST_TEXT_BYTES], *there = NULL;
    if (state_directory_read_job(directory, job, &there, NULL) == 0) {
        bool same = strcmp(there, text) == 0;
        free(there);
        if (same) {
            utimensat(directory->fd, job_name(job, name), NULL, 0);
            return 0;
        }
    }
    size_t count = strlen(text);
    char *whole = malloc(count + DIGEST_TEXT_BYTES + 1);
    if (!whole)
        return error_memory(err, "writing the job down");
    int bytes = snprintf(whole, count + DIGEST_TEXT_BYTES + 1, "%s%s\n", text,
                         digest_text(text_sum(text, count), sum));
    int failed = state_file_write(directory->fd, job_name(job, name), whole, (size_t)bytes, err);
    free(whole);
    return failed;
}

/* ---- ledgers ---- */

static int compare_jobs(const void *one, const void *other)
{
    return memcmp(one, other, sizeof(struct digest));
}

int state_directory_ledgers(const struct state_directory *directory, struct state_ledgers *ledgers,
                            struct error *err)
{
    DIR *stream;
    struct digest job;
    ledgers->count = 0;
    int failed = open_list(directory, &stream, err);
    if (failed)
        return failed;
    for (const char *name;
         !failed && (failed = next_name(directory, stream, &name, err)) == 0 && name;) {
        if (ledgers->count == MOST_ENTRIES || !parse_name_with(name, LEDGER_SUFFIX, &job))
            continue;
        if (!grow(ledgers->jobs, &ledgers->capacity, ledgers->count + 1))
            failed = error_memory(err, "reading the state directory");
        else
            ledgers->jobs[ledgers->count++] = job;
    }
    closedir(stream);
    if (!failed && ledgers->count)
        qsort(ledgers->jobs, ledgers->count, sizeof *ledgers->jobs, compare_jobs);
    return failed;
}

int state_directory_read_ledger(const struct state_directory *directory, struct digest job,
                                struct job_ledger *ledger, struct error *err)
{
    char name[NAME_BYTES];
    unsigned char *bytes = NULL;
    size_t count = 0;
    int failed = state_file_read(directory->fd, name_with(job, LEDGER_SUFFIX, name),
                                 LEDGER_MOST_BYTES, &bytes, &count, err);
    if (failed)
        return failed;
    failed = job_ledger_decode((const char *)bytes, count, ledger, err);
    free(bytes);
    if (!failed && !digest_equal(ledger->job, job))
        failed = error_set(err, EX_DATAERR, "it is of another job");
    if (failed && err)
        error_prefix(err, "%s/%s", directory->path, name);
    return failed;
}

int state_directory_write_ledger(const struct state_directory *directory,
                                 const struct job_ledger *ledger, struct error *err)
{
    char name[NAME_BYTES], *text;
    size_t count;
    int failed = job_ledger_encode(ledger, &text, &count, err);
    if (failed)
        return failed;
    failed = state_file_write(directory->fd, name_with(ledger->job, LEDGER_SUFFIX, name), text,
                              count, err);
    free(text);
    return failed;
}
