/*
 * The planner thread: turns the stream into plans, ahead of demand, and plans past and far steps
 * again from the nearest saved state.
 *
 * It works in slices of at most PLANNER_SLICE_STEPS steps or PLANNER_SLICE_NS, and looks at the
 * demand again after each: a request for a far step delays nobody by more than a slice, and work
 * that nobody waits for any more stops. What it makes does not depend on the slices.
 *
 * Thread: its own, which alone touches planner and checkpoints. Owner: the server. `notify` is
 * called on the planner thread whenever the store has news or a report is ready. Teardown:
 * plan_store_stop, planner_thread_join, then free the store.
 */
#ifndef BALLAST_SERVE_PLANNER_THREAD_H
#define BALLAST_SERVE_PLANNER_THREAD_H

#include "base/error.h"
#include "config/config.h"
#include "corpus/corpus.h"
#include "plan/plan.h"
#include "serve/lineage.h"
#include "serve/plan_store.h"
#include "serve/planner_report.h"
#include "serve/snapshots.h"

#define PLANNER_SLICE_STEPS 64
#define PLANNER_SLICE_NS 10000000
#define PLANNER_SNAPSHOT_STEPS 1024 /* planned again at most, to have a snapshot at the front */

/* What became of a change of the ledger. */
struct planner_change {
    struct error error;        /* code 0: it is on disk, and in force */
    struct ledger_entry entry; /* as it was asked for; whoever takes the answer frees it */
    struct lineage *lineage;   /* of the job from now on */
};

typedef void planner_notify(void *context);

/* Sees the planner before it is another thread's. */
typedef void planner_opened(void *context, const struct planner *planner);

struct planner_thread; /* opaque */

/* What the thread works with; all of it must outlive the thread. */
struct planner_links {
    struct plan_store *store;
    struct snapshots *snapshots; /* the state directory; NULL: none */
    const uint64_t *accept; /* a change of the corpus, up to this step; NULL: none is accepted */
    planner_notify *notify;
    planner_opened *opened; /* called once, by planner_thread_start; NULL: nobody */
    void *context;          /* of both */
};

/*
 * Starts the thread over a fresh planner with the ledger that the state directory holds. `config`
 * and `corpus` must outlive it, and *ret_lineage is its own. Errors of job_open, or EX_OSERR;
 * nothing runs then.
 */
int planner_thread_start(const struct config *config, const struct corpus *corpus,
                         const struct planner_links *links, struct planner_thread **ret_thread,
                         struct lineage **ret_lineage, struct error *err);

/*
 * Asks for an entry in the ledger, at its end unless it drops a shard; `entry` is copied. Plans by
 * the ledger of before may still be published until the answer is there. EX_OSERR. One at a time.
 */
int planner_thread_change(struct planner_thread *thread, const struct ledger_entry *entry,
                          struct error *err);

/* The answer, once; false when there is none yet. */
bool planner_thread_take_change(struct planner_thread *thread, struct planner_change *ret_change);

/* The report last asked for by plan_store_request_report, or NULL; the caller frees it. */
struct planner_report *planner_thread_take_report(struct planner_thread *thread);

/*
 * Waits for the thread, which plan_store_stop has told to end, and frees it. Returns the newest
 * lineage, the caller's to free once nobody looks at it any more. NULL is accepted.
 */
struct lineage *planner_thread_join(struct planner_thread *thread);

#endif
