/*
 * The insides of the snapshots, for the files that make them up: snapshots_load.c finds what is
 * there at the start, snapshots.c writes and answers. Nobody else includes this.
 */
#ifndef BALLAST_SERVE_SNAPSHOTS_STATE_H
#define BALLAST_SERVE_SNAPSHOTS_STATE_H

#include <pthread.h>

#include "serve/former_jobs.h"
#include "serve/snapshots.h"

/* A state on its way to the disk. */
struct parcel {
    void *bytes; /* NULL: none */
    size_t count;
    uint64_t step;
    struct digest job;
    struct snapshots_front front;
    bool asked;
};

struct snapshots {
    const struct state_options *options;
    struct log *log;
    snapshots_notify *notify;
    void *context;
    struct digest job;
    char *job_text;
    char *last_text; /* of what the ledger has come to; NULL: the same */
    struct former_jobs former;
    pthread_mutex_t disk; /* taken before `lock`: over the directory, once the writer runs */
    struct state_directory directory;
    char told[ERROR_TEXT_BYTES]; /* the writer's: the error logged last, until it is over */
    pthread_t writer;
    bool running;

    pthread_mutex_t lock; /* over what follows */
    pthread_cond_t work;
    bool stop;
    struct parcel next;
    const struct lineage *lineage; /* changes with the disk held too: either lock lets it be read */
    struct state_list on_disk;
    uint64_t writing; /* step of the parcel taken last */
    struct snapshots_facts facts;
    bool answered;
    struct snapshots_answer answer;
};

/* ---- snapshots.c ---- */

void snapshots_tell(struct snapshots *snapshots, enum log_level level, const char *what,
                    const struct error *err);

/* A trouble that goes on is told once, not at every snapshot. */
void snapshots_tell_trouble(struct snapshots *snapshots, const struct error *err);

/*
 * The directory is open, locked, and says which job this is. With the disk held, once the writer
 * runs. Errors of state_directory_open, _lock and _write_job. Blocks on I/O.
 */
int snapshots_begin_to_write(struct snapshots *snapshots, struct error *err);

/* Is it of the job of that struct lineage? Also of a former epoch, but of no history that was
 * overruled. */
bool snapshots_is_ours(const void *lineage, const struct state_entry *entry);

/* ---- snapshots_load.c ---- */

/* snapshots_begin but for the writer: lineage, job and its texts are set. Only EX_OSERR fails. */
int snapshots_load(struct snapshots *snapshots, struct planner *planner,
                   const struct corpus *corpus, struct checkpoints *checkpoints, struct error *err);

#endif
