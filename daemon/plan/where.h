/*
 * In which steps is a document? A search that runs a planner forward from any state in which the
 * document has not begun, until all of it has been met. Its place in the shuffle is known at once,
 * so that callers can choose a state close to it, and show how far it is.
 *
 * Pure; one thread at a time.
 */
#ifndef BALLAST_PLAN_WHERE_H
#define BALLAST_PLAN_WHERE_H

#include "plan/plan.h"

enum where_kind {
    WHERE_SERVED,   /* in a step */
    WHERE_LEFT_OUT, /* the ledger leaves it out at that step */
    WHERE_WAITING,  /* in the packer before that step, which is the next to be planned */
};

/* A run of the document's tokens. */
struct where_place {
    enum where_kind kind;
    uint64_t step;
    uint32_t microbatch, slot, dp; /* SERVED */
    uint64_t offset;
    uint32_t length;
    uint32_t first_rank, rank_count; /* SERVED: where.ranks, those CP ranks that have some of it */
};

/* Zero-initialise; where_fini. */
struct where {
    size_t source;
    uint64_t document, epoch;
    uint64_t tokens;     /* of the document */
    uint64_t position;   /* in the order of the epoch: the document that is begun as number .. */
    bool begun;          /* the stream has passed the position, ... */
    uint64_t begun_step; /* ... when this step was planned */
    struct where_place *places; /* in the order in which they were met */
    size_t count, capacity;
    uint32_t *ranks;
    size_t ranks_count, ranks_capacity;
    uint64_t met; /* tokens served or left out */
    int failed;   /* EX_OSERR while listening to the planner */
    struct planner_state state;
};

void where_fini(struct where *where);

/*
 * The document's place in the shuffle of `epoch`, from 0. EX_USAGE: the corpus has no such source,
 * document or epoch.
 */
int where_begin(struct where *where, const struct planner *planner, const struct corpus *corpus,
                const char *source, uint64_t document, uint64_t epoch, struct error *err);

/* Can the search start from a state with these cursors? */
bool where_may_start(const struct where *where, const struct source_cursor *cursors);

enum where_result {
    WHERE_MORE,  /* call again */
    WHERE_DONE,  /* all of it has been met, or was never to be served */
    WHERE_ERROR, /* `err` says why */
};

/* Plans one step and looks for the document. At the end of data the search is done. */
enum where_result where_step(struct where *where, struct planner *planner, struct step_plan *plan,
                             struct error *err);

/* Ends a search early: what of the document waits goes to the places. */
int where_stop(struct where *where, const struct planner *planner, struct error *err);

/* One JSON object: the document, its place in the shuffle, and its places; to be freed. EX_OSERR.
 */
int where_json(const struct where *where, const struct planner *planner,
               const struct corpus *corpus, char **ret_text, struct error *err);

#endif
