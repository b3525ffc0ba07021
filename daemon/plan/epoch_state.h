/*
 * The insides of an epoch, for the files that make it up: epoch.c plans, epoch_waiting.c keeps what
 * waits and the state, epoch_change.c does what the ledger says. Nobody else includes this.
 */
#ifndef BALLAST_PLAN_EPOCH_STATE_H
#define BALLAST_PLAN_EPOCH_STATE_H

#include "pack/pieces.h"
#include "plan/epoch.h"
#include "plan/foresight.h"

struct epoch {
    const struct config *config;
    const struct corpus *corpus;
    struct pack_shape shape;
    struct stream *stream;
    struct foresight foresight;          /* open when the policy asks for it */
    struct pack_options packing_options; /* the configuration's, `auto` being decided */
    struct auto_thresholds *thresholds;  /* NULL: given */
    const struct pack_policy *policy;
    void *packer;

    struct pieces backlog; /* taken over from the epoch before: comes before the stream */
    uint64_t next_step;
    struct digest job, digest; /* of the job; of step next_step - 1 */
    char *job_text;
    bool ended;    /* the stream is at its end: packing drains */
    bool finished; /* so is the packing */
    uint64_t dropped_pieces, dropped_tokens;

    planner_watcher *watcher;
    void *watcher_context;

    struct packing packing; /* working memory */
    struct cp_shards shards;
    struct waiting_piece *waiting;
    size_t waiting_capacity;
};

/* ---- epoch.c ---- */

/* Fills epoch->packing; PLANNER_END where there is nothing more to serve. */
enum planner_result epoch_pack_next(struct epoch *epoch, struct plan_waiting *ret_waiting,
                                    struct error *err);

/* ---- epoch_waiting.c ---- */

/* Reads what waits into epoch->waiting: what the packer holds back, then the backlog. */
int epoch_list_waiting(struct epoch *epoch, size_t *ret_count, struct error *err);

/* What epoch_list_waiting gave, or a part of it, goes back to packer and backlog. */
int epoch_put_waiting(struct epoch *epoch, const struct waiting_piece *waiting, size_t count,
                      struct error *err);

int epoch_sum_waiting(struct epoch *epoch, struct plan_waiting *ret_waiting, struct error *err);

#endif
