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
#include "serve/plan_store.h"
#include "serve/planner_report.h"
#include "serve/snapshots.h"

#define PLANNER_SLICE_STEPS 64
#define PLANNER_SLICE_NS 10000000
#define PLANNER_SNAPSHOT_STEPS 1024 /* planned again at most, to have a snapshot at the front */

typedef void planner_notify(void *context);

struct planner_thread; /* opaque */

/* What the thread works with; all of it must outlive the thread. */
struct planner_links {
    struct plan_store *store;
    struct snapshots *snapshots; /* loads what it finds on disk, is offered new ones; NULL: none */
    planner_notify *notify;
    void *context;
};

/*
 * Starts the thread over a fresh planner, whose job digest goes to *ret_digest. `config` and
 * `corpus` must outlive it. Errors of planner_new, or EX_OSERR; nothing runs then.
 */
int planner_thread_start(const struct config *config, const struct corpus *corpus,
                         const struct planner_links *links, struct planner_thread **ret_thread,
                         struct digest *ret_digest, struct error *err);

/* planner_auto_thresholds; it never changes, so any thread may read it. */
const struct auto_thresholds *planner_thread_thresholds(const struct planner_thread *thread);

/* The report last asked for by plan_store_request_report, or NULL; the caller frees it. */
struct planner_report *planner_thread_take_report(struct planner_thread *thread);

/* Waits for the thread, which plan_store_stop has told to end, and frees it. NULL is accepted. */
void planner_thread_join(struct planner_thread *thread);

#endif
