/*
 * One micro-batch of attention, planned by the daemon's own planner and run on all CP ranks at
 * once, or without ranks by the reference in double precision. For tests.
 */
#ifndef BALLAST_TESTS_KERNELS_CP_JOB_H
#define BALLAST_TESTS_KERNELS_CP_JOB_H

#include <ballast/attention_cp.h>
#include <stdbool.h>

#include "cp/cp.h"

#define JOB_MOST_RANKS 8
#define JOB_MOST_PIECES 64

struct job {
    /* To be set. */
    enum cp_strategy strategy;
    uint32_t ranks, pad_to_multiple;
    uint32_t lengths[JOB_MOST_PIECES]; /* of the pieces; ends with 0 */
    ballast_attention_type type;
    uint32_t heads, kv_heads, head_dim;
    ballast_attention_path path;
    ballast_attention_cp_variant variant;
    uint32_t kv_head_groups;
    uint32_t timeout_ms[JOB_MOST_RANKS];  /* 0: the default */
    ballast_attention_type gradient_type; /* of k and v: the type (0 is BF16), or F32 */
    bool cut_off; /* streams may run empty over what nobody wrote, so it is zero from the start */

    /* By job_init. */
    ballast_attention_cp_id id;
    uint32_t tokens, piece_count, padded_tokens;
    uint32_t cu_seqlens[JOB_MOST_PIECES + 1], rank_chunks[JOB_MOST_RANKS + 1];
    struct cp_shards shards;
    uint16_t *q, *k, *v, *out_gradient; /* of the whole sequence, as the type has them */
};

/* Tensors of the whole sequence, in its order; lse [heads, tokens]. */
struct job_results {
    double *out, *lse, *q_gradient, *k_gradient, *v_gradient;
};

/* What one rank was told, and whether its padding is as it should be. */
struct job_rank {
    ballast_attention_status open, run;
    ballast_attention_error error;
    bool padding_is_zero;
};

/* False when out of memory; job_fini is right either way. Inputs depend on `seed` alone. */
bool job_init(struct job *job, uint32_t seed);
void job_fini(struct job *job);

bool job_results_init(const struct job *job, struct job_results *results);
void job_results_fini(struct job_results *results);

ballast_attention_layout job_layout(const struct job *job);
ballast_attention_cp_plan job_plan(const struct job *job, uint32_t rank);

/* Forward and backward on all ranks, each a thread. What a rank did not compute stays NaN. */
void job_run(const struct job *job, struct job_results *results,
             struct job_rank ranks[JOB_MOST_RANKS]);

/*
 * The same without ranks: exact, or with every tensor that a plain implementation would keep
 * rounded to the job's type. False when out of memory.
 */
bool job_reference(const struct job *job, bool rounded, struct job_results *results);

/*
 * NULL where every tensor's error against `exact`, in the norm, is at most `factor` times that of
 * `rounded`; else what is wrong, as a text that stays until the next call.
 */
const char *job_difference(const struct job *job, const struct job_results *results,
                           const struct job_results *exact, const struct job_results *rounded,
                           double factor);

#endif
