/*
 * The state directory: snapshots of jobs, what each job was, and a lock.
 *     JOB-STEP.snapshot   JOB: the job digest in 32 hexadecimal digits; STEP: the next step, in 20
 *     JOB.job             the job as text (state/job_file.h)
 *     JOB.ledger          what changed while it lived (plan/ledger.h)
 *     lock                held by the daemon that writes here
 * Whatever else lies there is left alone. Blocks on I/O; one thread at a time.
 */
#ifndef BALLAST_STATE_STATE_DIRECTORY_H
#define BALLAST_STATE_STATE_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "plan/plan.h"

struct state_directory {
    const char *path; /* the caller's */
    int fd;           /* of the directory, -1: not open */
    int lock;         /* -1: not held */
};

#define STATE_DIRECTORY_CLOSED(path) ((struct state_directory){ (path), -1, -1 })

/* A snapshot by its name alone: what it holds may still be torn. */
struct state_entry {
    struct digest job;
    uint64_t step;
    uint64_t bytes;
};

/* A ledger by its name alone. */
struct state_ledgers {
    struct digest *jobs; /* rising */
    size_t count, capacity;
};

/* A job whose text is there. */
struct state_job {
    struct digest digest;
    int64_t served_ns; /* when a daemon last began to serve it, by the clock of the file system */
};

struct state_list {
    struct state_entry *entries; /* by job, then by rising step */
    size_t count, capacity;
    struct state_job *jobs; /* in any order */
    size_t job_count, job_capacity;
};

/*
 * Opens the directory, and makes it when only the last part of its path is missing. Does nothing
 * when it is open and the path still leads there; else it opens what is there now, without the
 * lock. EX_CANTCREAT names path and reason; EX_OSERR and EX_IOERR, when memory or
 * descriptors have run out or the disk fails, leave open whether there is one.
 */
int state_directory_open(struct state_directory *directory, struct error *err);

/* The same, but never makes it: for those who only read. EX_NOINPUT; EX_OSERR, EX_IOERR. */
int state_directory_open_existing(struct state_directory *directory, struct error *err);

/*
 * Takes the lock, for as long as the directory is open, and removes what a writer that was killed
 * has left. Does nothing when it is held. EX_UNAVAILABLE: another daemon writes here; EX_CANTCREAT:
 * the system refuses, as of a read-only directory. Never waits.
 */
int state_directory_lock(struct state_directory *directory, struct error *err);

/* Accepts one that is not open. */
void state_directory_close(struct state_directory *directory);

/* All snapshots of every job, and all texts of jobs. Zero-initialise `list`; state_list_fini.
 * EX_IOERR, EX_OSERR. */
int state_directory_list(const struct state_directory *directory, struct state_list *list,
                         struct error *err);
void state_list_fini(struct state_list *list);

/*
 * Reads one of them. EX_DATAERR, naming the file: torn, or not what its name says; EX_NOINPUT: gone
 * meanwhile; EX_IOERR, EX_OSERR. `state` as snapshot_decode leaves it.
 */
int state_directory_read(const struct state_directory *directory, const struct state_entry *entry,
                         struct planner_state *state, struct error *err);

/* Writes a snapshot that snapshot_encode made, as state_file_write does. Needs the lock. */
int state_directory_write(const struct state_directory *directory, struct digest job, uint64_t step,
                          const void *bytes, size_t count, struct error *err);

/* Is a snapshot of the job in question? */
typedef bool state_is_ours(const void *context, const struct state_entry *entry);

/*
 * Removes what thinning.h does not keep of the snapshots in `list` that are ours, there and on
 * disk: those of one job, under whatever digests its ledger has given it.
 */
void state_directory_thin(const struct state_directory *directory, state_is_ours *ours,
                          const void *context, uint64_t centre, struct state_list *list);

/* Which jobs have a ledger. Zero-initialise; free `jobs`. EX_IOERR, EX_OSERR. */
int state_directory_ledgers(const struct state_directory *directory, struct state_ledgers *ledgers,
                            struct error *err);

/*
 * Reads a job's ledger into a zeroed one, which is right for job_ledger_fini afterwards whatever
 * happened. EX_NOINPUT: it has none; EX_DATAERR: torn, or another job's; EX_IOERR, EX_OSERR.
 */
int state_directory_read_ledger(const struct state_directory *directory, struct digest job,
                                struct job_ledger *ledger, struct error *err);

/* Replaces the ledger of its job at once, as state_file_write does. Needs the lock. */
int state_directory_write_ledger(const struct state_directory *directory,
                                 const struct job_ledger *ledger, struct error *err);

/* The text of a job, to be freed; EX_NOINPUT when it was never written, EX_DATAERR when torn. */
int state_directory_read_job(const struct state_directory *directory, struct digest job,
                             char **ret_text, struct error *err);

/* Writes the text of a job, or says that it is served again where it is there. Needs the lock. */
int state_directory_write_job(const struct state_directory *directory, struct digest job,
                              const char *text, struct error *err);

#endif
