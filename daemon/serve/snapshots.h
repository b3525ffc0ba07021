/*
 * The state directory of the job that is served: its snapshots and its ledger. Snapshots that are
 * there are loaded before the planner starts, and new ones are written by a thread of their own, so
 * that a slow disk holds nobody up. Whatever the disk refuses is logged and counted, and serving
 * goes on.
 *
 * Of the states offered while one is being written, the latest is written next. The ledger, which
 * nobody may lose, is written while the caller waits. Threads: the planner's calls what its part
 * below says, the loop's the rest; the writer's own is inside. Owner: the server, which frees it
 * after the planner has been joined.
 */
#ifndef BALLAST_SERVE_SNAPSHOTS_H
#define BALLAST_SERVE_SNAPSHOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "config/config.h"
#include "observe/log.h"
#include "plan/plan.h"
#include "serve/checkpoints.h"
#include "serve/lineage.h"
#include "state/state_directory.h"

struct snapshots; /* opaque */

typedef void snapshots_notify(void *context);

/*
 * Without touching the disk. `options` (whose directory is not NULL) and `log` must outlive it;
 * `notify` is called on the writer's thread when an answer is ready. EX_OSERR.
 */
int snapshots_new(const struct state_options *options, struct log *log, snapshots_notify *notify,
                  void *context, struct snapshots **ret_snapshots, struct error *err);

/*
 * Before snapshots_begin: the directory, open if there is one, else that is logged. The snapshots'
 * own. EX_OSERR, EX_IOERR: it may be there, with a ledger that must not be overlooked. Blocks on
 * I/O.
 */
int snapshots_directory(struct snapshots *snapshots, const struct state_directory **ret_directory,
                        struct error *err);

/*
 * Before anything is opened: goes on with a job whose corpus has changed, from its furthest
 * snapshot before or at `step`; state/accept.h. What was accepted is logged. Blocks on I/O.
 */
int snapshots_accept(struct snapshots *snapshots, const struct config *config,
                     const struct corpus *corpus, uint64_t step, struct error *err);

/*
 * Before the planner's thread starts: puts the snapshots of `planner`'s job into `checkpoints`,
 * each tried on the planner, which is then put back to where it was; learns of other jobs; starts
 * the writer. Only EX_OSERR fails; what is wrong on disk is logged. `lineage` must outlive the
 * snapshots. Blocks on I/O.
 */
int snapshots_begin(struct snapshots *snapshots, struct planner *planner,
                    const struct corpus *corpus, const struct lineage *lineage,
                    struct checkpoints *checkpoints, struct error *err);

/* ---- the planner's side ---- */

/* Writes a ledger of the job. EX_CANTCREAT, EX_IOERR, EX_UNAVAILABLE: the old one still stands.
 * Blocks on I/O. */
int snapshots_write_ledger(struct snapshots *snapshots, const struct job_ledger *ledger,
                           struct error *err);

/*
 * From now on the job has this lineage, which must outlive the snapshots, and is what `text` says
 * (planner_last_job_text).
 */
void snapshots_follow(struct snapshots *snapshots, const struct lineage *lineage, const char *text);

/* Where the job stands, as far as trainers have said. */
struct snapshots_front {
    bool known;
    uint64_t step;
};

/* Should the state before `next_step` be offered? */
bool snapshots_due(struct snapshots *snapshots, uint64_t next_step, struct snapshots_front front);

/* Hands a state over to be written; `asked`: somebody waits for the answer. Does not block. */
void snapshots_offer(struct snapshots *snapshots, const struct planner_state *state,
                     struct snapshots_front front, bool asked);

/* An answer for whoever asked, when the state could not even be made. Does not block. */
void snapshots_refuse(struct snapshots *snapshots, const struct error *why);

struct snapshots_answer {
    struct error error; /* code 0: it is on disk */
    uint64_t step, bytes;
};

/* ---- the loop's side ---- */

/* The answer to the last snapshot that was asked for; false when there is none. */
bool snapshots_take_answer(struct snapshots *snapshots, struct snapshots_answer *ret_answer);

struct snapshots_facts {
    bool any;           /* last_step is known */
    uint64_t last_step; /* of the snapshot last written or, before that, of the furthest loaded */
    uint64_t loaded, skipped; /* at start */
    uint64_t written, errors;
};

void snapshots_facts(struct snapshots *snapshots, struct snapshots_facts *ret_facts);

/* What has changed since a former job, or NULL when that is not known. */
const char *snapshots_difference(const struct snapshots *snapshots, struct digest job);

/* The same, since the job served from this directory before this one. */
const char *snapshots_last_difference(const struct snapshots *snapshots);

/* Writes what was offered last, ends the writer, and frees. NULL is accepted. Blocks on I/O. */
void snapshots_free(struct snapshots *snapshots);

#endif
