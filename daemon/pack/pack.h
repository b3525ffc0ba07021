/*
 * Packing: pieces in stream order go in, the N micro-batches of a step come out (DESIGN section 6).
 * A policy is one file that fills one struct pack_policy; pack/policies.c lists them.
 *
 * Pure and deterministic; one thread at a time. The planner drives a packer like this, every step:
 *     while (packer wants more) offer the next piece of the stream;
 *     pack.
 */
#ifndef BALLAST_PACK_PACK_H
#define BALLAST_PACK_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/piece.h"
#include "cost/cost.h"

#define PACK_MAX_THRESHOLDS 16

enum pack_objective {
    PACK_MAX_MICROBATCH, /* the step's largest micro-batch */
    PACK_STEP_TIME,      /* the pipeline of the slowest replica */
};

/* What the configuration says under `packing`. */
struct pack_options {
    char *policy;                 /* name of a policy */
    uint32_t window;              /* fixed policies: global batches packed together, >= 1 */
    uint64_t *outlier_thresholds; /* `wlb`: tokens, rising, at most PACK_MAX_THRESHOLDS */
    unsigned outlier_threshold_count;
    bool auto_thresholds; /* they are chosen when the planner opens (plan/auto_thresholds.h) */
    uint32_t max_waiting_steps; /* intake pauses while more global batches than this wait, and
                                   `fixed-greedy` puts pieces first that waited that many windows */
    /* `adaptive` only. */
    enum pack_objective objective; /* what is to be short */
    double balance;                /* 0 least delay .. 1 best balance, in thousandths */
    uint32_t max_delay;            /* no piece is served more steps after it arrived */

    uint64_t solver_nodes;   /* `fixed-solver`: search ends after this many nodes a window, >= 1 */
    uint32_t solver_time_ms; /* `fixed-solver`: packing fails when a program takes longer */
};

/* The frame a step is packed into. */
struct pack_shape {
    uint32_t microbatches; /* N, over all DP replicas */
    uint32_t window;       /* S: nominal tokens of a micro-batch */
    uint32_t max_tokens;   /* S_max >= S: most tokens of a micro-batch */
    uint32_t replicas;     /* dp: N / dp neighbours form a replica; 0 and N: each for itself */
    uint32_t stages;       /* pp: pipeline stages that a replica's micro-batches go through */
    struct cost_model cost;
};

struct packed_microbatch {
    uint32_t first, count; /* its pieces: packing.pieces[first .. first + count) */
    uint32_t tokens;       /* <= max_tokens */
    workload workload;
};

/* One packed step. Zero-initialise once, reuse for every step, packing_fini at the end. */
struct packing {
    struct piece *pieces; /* grouped by micro-batch, in the order in which they are concatenated */
    size_t piece_count, piece_capacity;
    struct packed_microbatch *microbatches; /* N; some may be empty at the end of data */
    size_t microbatch_capacity;
    uint64_t tokens;
};

void packing_fini(struct packing *packing);

/* A piece that a packer holds for a later step, and where in the packer it sits. */
struct waiting_piece {
    struct piece piece;
    uint32_t place; /* the policy's own meaning: queue level, left-over, prepared step ... */
    uint32_t zero;  /* padding, always 0: snapshots hold these bytes */
};

/* A figure that only one policy has, for reports. */
struct pack_fact {
    const char *name; /* as in JSON: "gap_mean" */
    double value;
};

struct pack_policy {
    const char *name;
    const char *study_only; /* why it plans but does not serve; NULL: it serves */

    /* *ret_state is untouched on failure. EX_CONFIG names the key that is wrong. */
    int (*open)(const struct pack_shape *shape, const struct pack_options *options,
                void **ret_state, struct error *err);
    void (*close)(void *state);

    /* Does the packer want another piece before `pack`? */
    bool (*wants)(const void *state);

    /* Takes one piece, in stream order. EX_OSERR when out of memory. */
    int (*offer)(void *state, const struct piece *piece, struct error *err);

    /*
     * Tokens of the stream beyond its intake whose lengths the policy wants to know before it
     * packs, and how it is told: the lengths of the pieces that follow, in stream order, fewer near
     * the end of data; `step` is the one packed next. They are not the policy's to serve, and what
     * it makes of them must follow from them alone. Both NULL: none.
     */
    uint64_t (*foresight)(const void *state);
    int (*foresee)(void *state, uint64_t step, const uint32_t *lengths, size_t count,
                   struct error *err);

    /*
     * Packs the next step. `draining` says that the stream has ended: every waiting piece is
     * released as fast as the caps allow, and a step may be short; after the last piece has left,
     * steps are empty.
     */
    int (*pack)(void *state, bool draining, struct packing *ret_packing, struct error *err);

    /*
     * Every piece held back, in an order from which `restore` rebuilds the state exactly.
     * Returns how many there are and writes at most `capacity` of them; `pieces` may be NULL then.
     */
    size_t (*waiting)(const void *state, struct waiting_piece *pieces, size_t capacity);

    /* Replaces the state by what `waiting` gave. Call between `pack` and the next `offer`. */
    int (*restore)(void *state, const struct waiting_piece *pieces, size_t count,
                   struct error *err);

    /* Name of a place, for operators: "queue 1 (>= 32768)", "left over". */
    void (*place_name)(const void *state, uint32_t place, char *text, size_t bytes);

    /*
     * Figures of its own over the steps it has packed since `open`, at most `capacity` of them;
     * returns how many there are. NULL: none.
     */
    size_t (*facts)(const void *state, struct pack_fact *facts, size_t capacity);

    /* Name and version of a library that decides what it packs. NULL: none. */
    const char *(*depends_on)(void);
};

#define PACK_MAX_FACTS 16

/* The policy of that name, or NULL. */
const struct pack_policy *pack_policy_find(const char *name);

/* What to install before a build, for a policy that Ballast knows and this build lacks; or NULL. */
const char *pack_policy_lacks(const char *name);

/* All policies, NULL-terminated, in the order in which help texts list them. */
extern const struct pack_policy *const pack_policies[];

#endif
