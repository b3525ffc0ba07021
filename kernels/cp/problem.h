/*
 * A CP problem: the attention problems that one rank computes, the tables by which rows move, and
 * where everything lies in the workspace.
 */
#ifndef BALLAST_KERNELS_CP_PROBLEM_H
#define BALLAST_KERNELS_CP_PROBLEM_H

#include <ballast/attention_cp.h>
#include <stdbool.h>

#include "kernels/cp/group.h"
#include "kernels/cp/row_map.h"

/*
 * Offsets into the workspace. K and V of a row lie side by side, and so do their gradients: one row
 * of an exchange. Two of a kind take turns, so that one is exchanged while the other is in use.
 */
struct gather_places {
    size_t exchanged, token; /* the tables of the row map */
    size_t own;              /* this rank's rows of K and V, to be sent */
    size_t gathered[2];      /* all ranks' rows */
    size_t keys;             /* the same in the order of the sequence */
    size_t gradients;        /* of keys, this rank's part, float */
    size_t parts[2];         /* the same in the order of ranks, to be reduced */
    size_t sums;             /* of this rank's rows, float */
};

struct ring_places {
    size_t keys[2];       /* a rank's rows of K and V */
    size_t out, part_out; /* float, up to the step before, and of this step */
    size_t part_lse;
    size_t q_gradient, part_q_gradient; /* float, likewise */
    size_t parts[2];                    /* this rank's part of a rank's gradients, float */
    size_t sums;                        /* what the ranks before have added up */
};

struct ballast_attention_cp_problem {
    ballast_attention_cp_variant variant;
    uint32_t ranks, rank;
    uint32_t padded_tokens;
    uint32_t heads, kv_heads, head_dim;
    ballast_attention_type type;
    uint32_t groups, group_heads; /* KV heads of a group */

    /* ALL_GATHER: the only one. RING: [ranks], by how many ranks the keys have come. */
    ballast_attention_problem **parts;
    uint32_t part_count;
    size_t *part_places; /* [part_count] their workspaces */
    struct row_map map;

    struct gather_places gather;
    struct ring_places ring;
    size_t workspace_bytes;
    unsigned char *workspace; /* NULL until it is uploaded */
};

/* One forward or backward on its way onto the streams. */
struct run {
    ballast_attention_cp *cp;
    const ballast_attention_cp_problem *problem;
    cudaStream_t stream; /* the caller's */
    ballast_attention_error *error;
};

static inline void *problem_at(const ballast_attention_cp_problem *problem, size_t place)
{
    return problem->workspace + place;
}

/* Values of K and V, or of their gradients, in one row of an exchange. */
static inline uint32_t problem_row_values(const ballast_attention_cp_problem *problem)
{
    return 2 * problem->group_heads * problem->head_dim;
}

/* Bytes of a value of the tensors. */
#define PROBLEM_VALUE_BYTES 2

static inline ncclDataType_t problem_nccl_type(const ballast_attention_cp_problem *problem)
{
    return problem->type == BALLAST_ATTENTION_BF16 ? ncclBfloat16 : ncclFloat16;
}

#endif
