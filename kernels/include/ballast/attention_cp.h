/*
 * attention_cp.h: the attention of attention.h where keys and values are spread over the ranks of
 * context parallelism (CP), by NCCL. A library that was built without NCCL has none of this.
 *
 * Every rank holds q, k and v of its own tokens and wants out, and later the gradients, of its own
 * tokens. All ranks of the group make the same calls in the same order:
 *
 *     ballast_attention_cp_options options = BALLAST_ATTENTION_CP_OPTIONS_INIT;
 *     options.ranks = 8, options.rank = ..., options.id = ...;    one id, from one rank, for all
 *     ballast_attention_cp *cp;
 *     ballast_attention_cp_open(&options, &cp, &error);           once, waits for all ranks
 *
 *     ballast_attention_cp_problem_new(&layout, &plan, &problem, &error);   once a micro-batch
 *     size_t bytes = ballast_attention_cp_workspace_bytes(problem);
 *     ballast_attention_cp_upload(problem, workspace, bytes, stream, &error);
 *
 *     ballast_attention_cp_forward(cp, problem, &forward, stream, &error);  once a layer
 *     ballast_attention_cp_backward(cp, problem, &backward, stream, &error);
 *     ballast_attention_cp_wait(cp, stream, &error);              instead of waiting for the stream
 *
 *     ballast_attention_cp_problem_free(problem);
 *     ballast_attention_cp_close(cp);
 *
 * Variants. ALL_GATHER gathers keys and values of some KV heads at a time, while the heads before
 * are computed, puts them into the order of the sequence, and computes each head at once; backward
 * gathers them again, so that nothing is kept, and reduce-scatters their gradients. RING sends keys
 * and values from rank to rank, each computing its queries with one rank's keys at a time; it is
 * there for comparison. Both compute the same.
 *
 * Shapes. Calls are those of attention.h, with k, v and their gradients by the rank's own rows:
 *     q, out, out_gradient, q_gradient   [padded_tokens, heads, head_dim]
 *     k, v, k_gradient, v_gradient       [padded_tokens, kv_heads, head_dim]
 *     lse                                [heads, padded_tokens] float, dense
 * kv_heads of a call stays { 0, 0 }: all heads. All ranks have the same padded_tokens, so that what
 * is exchanged has the same size everywhere; rows of padding get zeros in every result but lse.
 *
 * Numbers. Gradients of k and v are added over the ranks in float and rounded once. Results do not
 * depend on timing; the order of that sum is NCCL's, which is fixed for given ranks and a given
 * topology. The variants differ in the order of their sums, hence in the last bits.
 *
 * Failure. Every wait has a deadline, `timeout_ms` from its beginning. When one passes, when NCCL
 * reports an error on any rank that we hear of, or when ballast_attention_cp_abort is called, the
 * group is aborted: NCCL's kernels end, the streams run empty, results on the way are void, and
 * every later call on the group answers at once with the status that it was aborted with. The
 * process and its device memory stay usable; close the group and open another one with a new id.
 * Nobody else notices: each rank finds out by its own deadline or by NCCL.
 *
 * Memory. The group holds NCCL's memory, a stream, events; a problem is host memory; the rest is
 * the workspace, which is the caller's, as are all tensors, until the stream has passed the call.
 *
 * Threads. A group and its problems by one thread at a time, but for ballast_attention_cp_abort.
 * The current device is that of the group whenever it is used. Statuses and errors are those of
 * attention.h.
 */
#ifndef BALLAST_ATTENTION_CP_H
#define BALLAST_ATTENTION_CP_H

#include <ballast/attention.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The ranks of one group, on one of them. */
typedef struct ballast_attention_cp ballast_attention_cp;

#define BALLAST_ATTENTION_CP_ID_BYTES 128
#define BALLAST_ATTENTION_CP_MAX_RANKS 1024

/* What the ranks of one group have in common, and no other group has: an ncclUniqueId. */
typedef struct ballast_attention_cp_id {
    char bytes[BALLAST_ATTENTION_CP_ID_BYTES];
} ballast_attention_cp_id;

/* On one rank, which tells the others by its own means. Errors: COMMUNICATION. */
BALLAST_ATTENTION_API ballast_attention_status
ballast_attention_cp_make_id(ballast_attention_cp_id *ret_id, ballast_attention_error *error);

typedef struct ballast_attention_cp_options {
    size_t size;      /* sizeof(ballast_attention_cp_options), by the INIT macro */
    uint32_t version; /* 1, by the INIT macro */
    uint32_t ranks;   /* 1 to BALLAST_ATTENTION_CP_MAX_RANKS */
    uint32_t rank;
    uint32_t timeout_ms; /* of any one wait, 1 to 3600000; 0: 60000 */
    ballast_attention_cp_id id;
} ballast_attention_cp_options;

#ifdef __cplusplus
#define BALLAST_ATTENTION_CP_OPTIONS_INIT                                                          \
    {                                                                                              \
        sizeof(ballast_attention_cp_options), 1, 0, 0, 0,                                          \
        {                                                                                          \
        }                                                                                          \
    }
#else
#define BALLAST_ATTENTION_CP_OPTIONS_INIT                                                          \
    {                                                                                              \
        .size = sizeof(ballast_attention_cp_options), .version = 1                                 \
    }
#endif

/*
 * Joins the group on the current device; waits for all ranks. On success *ret_cp is the caller's
 * until ballast_attention_cp_close. Errors: INVALID, NO_MEMORY, DEVICE; TIMEOUT when a rank did not
 * come; COMMUNICATION.
 */
BALLAST_ATTENTION_API ballast_attention_status
ballast_attention_cp_open(const ballast_attention_cp_options *options,
                          ballast_attention_cp **ret_cp, ballast_attention_error *error);

/*
 * Leaves the group: together with the others where all is well, else by aborting it once they have
 * not come within the timeout. Frees; what the group had put on streams may still be on its way.
 * NULL is accepted.
 */
BALLAST_ATTENTION_API void ballast_attention_cp_close(ballast_attention_cp *cp);

/*
 * From any thread while the group is not being closed: ends every wait on this rank now, with
 * ABORTED. No effect on a group that is aborted.
 */
BALLAST_ATTENTION_API void ballast_attention_cp_abort(ballast_attention_cp *cp);

/*
 * Waits until the stream has done all that was put on it so far. Errors: TIMEOUT, COMMUNICATION,
 * ABORTED, DEVICE; after any of the first three the stream still runs empty, so that memory which
 * it uses may be freed after cudaStreamSynchronize.
 */
BALLAST_ATTENTION_API ballast_attention_status ballast_attention_cp_wait(
    ballast_attention_cp *cp, ballast_attention_stream stream, ballast_attention_error *error);

typedef enum ballast_attention_cp_variant {
    BALLAST_ATTENTION_CP_ALL_GATHER = 0,
    BALLAST_ATTENTION_CP_RING = 1,
} ballast_attention_cp_variant;

/* One micro-batch on all ranks; the same everywhere but for `rank`. */
typedef struct ballast_attention_cp_plan {
    size_t size;      /* sizeof(ballast_attention_cp_plan), by the INIT macro */
    uint32_t version; /* 1, by the INIT macro */
    ballast_attention_cp_variant variant;
    uint32_t ranks, rank;
    uint32_t piece_count;
    const uint32_t *cu_seqlens; /* [piece_count + 1] first token of each piece, from 0 */
    const ballast_attention_chunk
        *chunks;                 /* of all ranks, rank by rank; a rank's by piece, start */
    const uint32_t *rank_chunks; /* [ranks + 1] rank r owns chunks rank_chunks[r] up to [r + 1] */
    uint32_t padded_tokens;      /* rows of every rank, at least its tokens */
    /*
     * ALL_GATHER: KV heads are exchanged in so many groups of equal size, of which the number of
     * KV heads must be a multiple; more groups hide more of the exchange and take less memory, but
     * make smaller launches. 0: as many as keep at least two heads each, at most 4.
     */
    uint32_t kv_head_groups;
} ballast_attention_cp_plan;

#ifdef __cplusplus
#define BALLAST_ATTENTION_CP_PLAN_INIT                                                             \
    {                                                                                              \
        sizeof(ballast_attention_cp_plan), 1, BALLAST_ATTENTION_CP_ALL_GATHER, 0, 0, 0, nullptr,   \
            nullptr, nullptr, 0, 0                                                                 \
    }
#else
#define BALLAST_ATTENTION_CP_PLAN_INIT                                                             \
    {                                                                                              \
        .size = sizeof(ballast_attention_cp_plan), .version = 1                                    \
    }
#endif

/* A micro-batch with its tiles and tables, in host memory. */
typedef struct ballast_attention_cp_problem ballast_attention_cp_problem;

/*
 * Checks that the chunks hold every token of every piece exactly once, and prepares tiles and
 * tables; layout and plan are not needed afterwards. On success *ret_problem is the caller's until
 * ballast_attention_cp_problem_free. Does not touch the device. Errors: INVALID, also for KV heads
 * that cannot be cut into groups of equal size; UNSUPPORTED; NO_MEMORY.
 */
BALLAST_ATTENTION_API ballast_attention_status ballast_attention_cp_problem_new(
    const ballast_attention_layout *layout, const ballast_attention_cp_plan *plan,
    ballast_attention_cp_problem **ret_problem, ballast_attention_error *error);

/* Frees a problem; what is on the way on a stream does not need it. NULL is accepted. */
BALLAST_ATTENTION_API void ballast_attention_cp_problem_free(ballast_attention_cp_problem *problem);

/* Bytes of device memory for forward and backward, from upload until the last call has passed. */
BALLAST_ATTENTION_API size_t
ballast_attention_cp_workspace_bytes(const ballast_attention_cp_problem *problem);

/*
 * Puts tiles and tables into the workspace, aligned to 256 bytes, which the problem remembers.
 * Before the first forward or backward, on their stream or one they wait for. Keep the problem
 * until the stream has passed it. Errors: INVALID, DEVICE.
 */
BALLAST_ATTENTION_API ballast_attention_status ballast_attention_cp_upload(
    ballast_attention_cp_problem *problem, void *workspace, size_t workspace_bytes,
    ballast_attention_stream stream, ballast_attention_error *error);

/*
 * Enqueue on `stream`, with NCCL's part on a stream of the group, and return; they wait only for
 * NCCL to take its orders. Calls of one problem follow one another on the same stream. Errors:
 * INVALID, UNSUPPORTED, DEVICE; TIMEOUT, COMMUNICATION, ABORTED.
 */
BALLAST_ATTENTION_API ballast_attention_status
ballast_attention_cp_forward(ballast_attention_cp *cp, const ballast_attention_cp_problem *problem,
                             const ballast_attention_forward_call *call,
                             ballast_attention_stream stream, ballast_attention_error *error);
BALLAST_ATTENTION_API ballast_attention_status
ballast_attention_cp_backward(ballast_attention_cp *cp, const ballast_attention_cp_problem *problem,
                              const ballast_attention_backward_call *call,
                              ballast_attention_stream stream, ballast_attention_error *error);

#ifdef __cplusplus
}
#endif

#endif
