/*
 * The plan of a step: who gets which pieces and chunks, and the digest that identifies it
 * (DESIGN sections 2 and 3). The planner joins stream, packing and CP sharding.
 *
 * Pure: a function of (configuration, corpus, ledger, step). One thread at a time per planner; a
 * finished step_plan that nobody writes to may be read from any thread.
 */
#ifndef BALLAST_PLAN_PLAN_H
#define BALLAST_PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/piece.h"
#include "config/config.h"
#include "corpus/corpus.h"
#include "cp/cp.h"
#include "pack/pack.h"
#include "plan/auto_thresholds.h"
#include "plan/history.h"
#include "stream/stream.h"

struct plan_microbatch {
    uint32_t first_piece, piece_count; /* step_plan.pieces */
    uint32_t first_chunk, chunk_count; /* step_plan.chunks, all ranks */
    uint32_t tokens;
    uint32_t loss_tokens;   /* tokens that have a label */
    uint32_t padded_tokens; /* per rank */
    enum cp_strategy sharding;
    workload workload;
};

/* What a packer holds back after a step. */
struct plan_waiting {
    uint64_t pieces, tokens;
    uint64_t oldest; /* step in which the oldest of them arrived; the next step when none waits */
};

/*
 * One planned step. Zero-initialise, let planner_step fill it (it may be reused), step_plan_fini.
 * Micro-batch m belongs to DP replica m / microbatches-per-replica, slot m % the same.
 */
struct step_plan {
    uint64_t step;
    struct digest digest;
    uint64_t tokens, loss_tokens;
    uint32_t microbatch_count; /* N */
    uint32_t rank_count;       /* cp */
    struct plan_microbatch *microbatches;
    size_t microbatch_capacity;
    struct piece *pieces;
    size_t piece_count, piece_capacity;
    struct chunk
        *chunks; /* of micro-batch, rank, local order; piece counts within the micro-batch */
    size_t chunk_count, chunk_capacity;
    struct cp_rank *ranks; /* N x cp; `first` counts within the micro-batch's chunks */
    size_t rank_capacity;
    struct plan_waiting waiting;
};

void step_plan_fini(struct step_plan *plan);

/* max / mean workload over the micro-batches; 1 for an empty step. */
double step_plan_imbalance(const struct step_plan *plan);

static inline const struct cp_rank *step_plan_rank(const struct step_plan *plan,
                                                   uint32_t microbatch, uint32_t rank)
{
    return &plan->ranks[(size_t)microbatch * plan->rank_count + rank];
}

struct planner; /* opaque */

/*
 * A planner before step 0, of a job without a ledger. `config` and `corpus` must outlive it.
 * EX_CONFIG, EX_DATAERR or EX_OSERR as the parts say; *ret_planner is untouched on failure.
 */
int planner_new(const struct config *config, const struct corpus *corpus,
                struct planner **ret_planner, struct error *err);

/* The same, of a job with one; where it goes on with another corpus, planner_restore its first
 * state before anything else. `history` and `corpus` must outlive it. EX_DATAERR also when the
 * ledger is of another job. */
int planner_open(const struct history *history, const struct corpus *corpus,
                 struct planner **ret_planner, struct error *err);
void planner_free(struct planner *planner);

enum planner_result { PLANNER_STEP, PLANNER_END, PLANNER_ERROR };

/*
 * Plans the next step into `plan`. PLANNER_END at the end of data, and then always: `plan` is
 * untouched. PLANNER_ERROR fills `err`; the planner can then only be freed or restored.
 */
enum planner_result planner_step(struct planner *planner, struct step_plan *plan,
                                 struct error *err);

/* The step that planner_step would plan now. */
uint64_t planner_next_step(const struct planner *planner);

const struct history *planner_history(const struct planner *planner);

/* How `outlier_thresholds: auto` was decided at step 0; NULL where it was not asked for, or has no
 * effect. */
const struct auto_thresholds *planner_auto_thresholds(const struct planner *planner);

/* fingerprint(configuration, corpus): digest(step -1), the start of the chain where that is step 0.
 */
struct digest planner_job_digest(const struct planner *planner);

/*
 * E(0), E(1), ...: the job digest, bound to the former one where the corpus changed, and what each
 * entry of the ledger makes of the one before; as many as there are entries and one more. Valid as
 * long as the planner.
 */
const struct digest *planner_digests(const struct planner *planner);

/*
 * What the job digest is made of, as text of one line a fact: "seed=1", "source web weight=1 ...",
 * "corpus web shards=3 ... fingerprint=..." Valid as long as the planner.
 */
const char *planner_job_text(const struct planner *planner);

/* The same under the configuration that the ledger puts in force last. */
const char *planner_last_job_text(const struct planner *planner);

const struct source_cursor *planner_cursors(const struct planner *planner);

/* stream_position; the same under every configuration of the job. */
uint64_t planner_position(const struct planner *planner, size_t source, uint64_t epoch,
                          uint64_t document);

/* The policy, and its state, for reports on what waits where. */
const struct pack_policy *planner_policy(const struct planner *planner, const void **ret_state);

/* Pieces taken over from a former epoch that the packer has not been offered yet. */
const struct piece *planner_backlog(const struct planner *planner, size_t *ret_count);

/* Hears, from within planner_step, of every step whose data the ledger leaves out at `step`. */
typedef void planner_left_out(void *context, uint64_t step, const struct packing *packing);

/* NULL, the default, for nobody. */
void planner_watch_left_out(struct planner *planner, planner_left_out *watcher, void *context);

/* Hears, from within planner_step, when the policy begins to pack a step and when it is done. */
typedef void planner_watcher(void *context, bool begins);

/* For those who measure packing; NULL, the default, for nobody. */
void planner_watch(struct planner *planner, planner_watcher *watcher, void *context);

#define PLANNER_BACKLOG                                                                            \
    UINT32_MAX /* place of a waiting piece of planner_backlog; they are last                       \
                */

/* The planner's whole state between two steps. Zero-initialise, reuse, planner_state_fini. */
struct planner_state {
    uint64_t next_step;
    struct digest digest;                    /* of step next_step - 1 */
    bool ended;                              /* the stream is at its end: packing drains */
    bool finished;                           /* and the last step is planned */
    uint64_t dropped_pieces, dropped_tokens; /* with the last step, or with shards */
    struct source_cursor *cursors;
    size_t cursor_count, cursor_capacity;
    struct waiting_piece *waiting;
    size_t waiting_count, waiting_capacity;
};

void planner_state_fini(struct planner_state *state);

/* Copies the state out; EX_OSERR when out of memory. */
int planner_save(const struct planner *planner, struct planner_state *state, struct error *err);

/* Continues from a state saved by a planner of the same configuration and corpus, whose ledger had
 * the same entries for steps before state->next_step. */
int planner_restore(struct planner *planner, const struct planner_state *state, struct error *err);

#endif
