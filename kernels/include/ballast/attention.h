/*
 * attention.h: causal attention for one rank's share of a micro-batch of packed pieces.
 *
 * A rank of context parallelism (CP) holds some tokens of every piece: its chunks, as Ballast's
 * batches list them. This library computes attention of these tokens' queries with the keys and
 * values of the same pieces, forward and backward:
 *
 *     ballast_attention_layout layout = BALLAST_ATTENTION_LAYOUT_INIT;
 *     layout.heads = 32, layout.kv_heads = 8, layout.head_dim = 128;
 *     ballast_attention_plan plan = BALLAST_ATTENTION_PLAN_INIT;
 *     plan.piece_count = view->piece_count, plan.cu_seqlens = view->cu_seqlens;
 *     plan.chunks = ..., plan.chunk_count = ..., plan.padded_tokens = view->padded_tokens;
 *     ballast_attention_problem *problem;
 *     if (ballast_attention_problem_new(&layout, &plan, &problem, &error) != BALLAST_ATTENTION_OK)
 *         ...
 *     size_t bytes = ballast_attention_workspace_bytes(problem);       device memory, from you
 *     ballast_attention_upload(problem, workspace, bytes, stream, &error);   once a micro-batch
 *     ballast_attention_forward(problem, &forward, stream, &error);          once a layer
 *     ballast_attention_backward(problem, &backward, stream, &error);
 *     ballast_attention_problem_free(problem);
 *
 * Shapes. The last axis is dense; an axis before it is head_dim elements apart; a row is as far
 * from the next as its stride says, 0 meaning dense.
 *     q, out, out_gradient, q_gradient   [padded_tokens, heads, head_dim]
 *     k, v, k_gradient, v_gradient       [key_tokens, kv_heads, head_dim]
 *     lse                                [heads, padded_tokens] float, dense
 * Query rows are the rank's tokens in local order, chunk after chunk, then padding. Key rows are
 * the micro-batch's tokens, piece after piece: piece i has rows cu_seqlens[i] up to
 * cu_seqlens[i + 1]. The token with position p of piece i sees the rows cu_seqlens[i] up to
 * cu_seqlens[i] + p, itself included. Query head h belongs to KV head h / (heads / kv_heads).
 * Keys and values of all key rows are finite: a row that is not seen may be multiplied by zero.
 *
 * Results. lse is the natural logarithm of the sum of exp(scale x q.k) over what a row sees. Rows
 * of padding get zeros in out and q_gradient and -INFINITY in lse. Key rows that no query row of
 * this rank sees get zeros in k_gradient and v_gradient. Nothing is read of a result before it is
 * written, and nothing else is touched. Gradients of keys and values are this rank's part: the sum
 * over the CP ranks is the gradient.
 *
 * Determinism. The same problem and input give the same bits on the same path, with any number of
 * blocks, on any stream, for any grouping of KV heads: no sum depends on who finishes first.
 *
 * Memory. The library allocates nothing on the device and, but for the problem, nothing on the
 * host. Pointers of tensors and of the workspace are device memory, aligned to 16 and 256 bytes;
 * row strides are multiples of 8 elements. The caller owns all of it and keeps it until the
 * stream has passed the call.
 *
 * Streams and threads. Calls enqueue on the stream and return. Problems may be used by different
 * threads at once; one problem by one thread at a time. Calls of one problem may be on the way on
 * several streams at once if they follow the upload and cover different KV heads.
 *
 * Errors are statuses; the library never prints, exits or aborts. `error` may be NULL.
 *
 * Tests link an emulation of the device instead, where device memory is any memory
 * (ARCHITECTURE.md).
 */
#ifndef BALLAST_ATTENTION_H
#define BALLAST_ATTENTION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define BALLAST_ATTENTION_API __attribute__((visibility("default")))
#else
#define BALLAST_ATTENTION_API
#endif

/* A cudaStream_t, named without CUDA's headers. NULL is the default stream. */
typedef struct CUstream_st *ballast_attention_stream;

typedef enum ballast_attention_status {
    BALLAST_ATTENTION_OK = 0,
    BALLAST_ATTENTION_INVALID = 1,     /* an argument is out of its documented range */
    BALLAST_ATTENTION_UNSUPPORTED = 2, /* well-formed, but there is no kernel for it here */
    BALLAST_ATTENTION_NO_MEMORY = 3,
    BALLAST_ATTENTION_DEVICE = 4,        /* CUDA refused; the error says what and why */
    BALLAST_ATTENTION_COMMUNICATION = 5, /* NCCL did; from here on, see attention_cp.h */
    BALLAST_ATTENTION_TIMEOUT = 6,
    BALLAST_ATTENTION_ABORTED = 7,
} ballast_attention_status;

#define BALLAST_ATTENTION_ERROR_BYTES 256

/* What went wrong, for a person to read: what, where, found, expected. One line. */
typedef struct ballast_attention_error {
    char text[BALLAST_ATTENTION_ERROR_BYTES];
} ballast_attention_error;

/* "out of memory"; static. */
BALLAST_ATTENTION_API const char *ballast_attention_status_text(ballast_attention_status status);

/* Version of the library and of its kernels' speed, "0.1.0"; static. */
BALLAST_ATTENTION_API const char *ballast_attention_version(void);

typedef enum ballast_attention_type {
    BALLAST_ATTENTION_BF16 = 0,
    BALLAST_ATTENTION_F16 = 1,
    BALLAST_ATTENTION_F32 = 2, /* of results only */
} ballast_attention_type;

typedef enum ballast_attention_path {
    BALLAST_ATTENTION_PATH_AUTO = 0,  /* the fastest that the device has */
    BALLAST_ATTENTION_PATH_MMA = 1,   /* mma.sync: compute capability 8.0 and newer */
    BALLAST_ATTENTION_PATH_WGMMA = 2, /* wgmma and TMA: compute capability 9.0 only */
} ballast_attention_path;

/* What is the same for every micro-batch of a model. */
typedef struct ballast_attention_layout {
    size_t size;                 /* sizeof(ballast_attention_layout), by the INIT macro */
    uint32_t version;            /* 1, by the INIT macro */
    ballast_attention_type type; /* of q, k, v and out_gradient: BF16 or F16 */
    uint32_t heads;              /* query heads, a multiple of kv_heads */
    uint32_t kv_heads;           /* heads / kv_heads, the group, is at most 64 */
    uint32_t head_dim;           /* 64 or 128 */
    float scale;                 /* of q.k; 0: 1 / sqrt(head_dim) */
    ballast_attention_path path;
    uint32_t blocks; /* persistent thread blocks a launch; 0: as many as the device holds */
} ballast_attention_layout;

#ifdef __cplusplus /* designated initialisers came with C++20 */
#define BALLAST_ATTENTION_LAYOUT_INIT                                                              \
    {                                                                                              \
        sizeof(ballast_attention_layout), 1, BALLAST_ATTENTION_BF16, 0, 0, 0, 0.0F,                \
            BALLAST_ATTENTION_PATH_AUTO, 0                                                         \
    }
#else
#define BALLAST_ATTENTION_LAYOUT_INIT                                                              \
    {                                                                                              \
        .size = sizeof(ballast_attention_layout), .version = 1                                     \
    }
#endif

/* A run of one piece's tokens that a rank holds; laid out like ballast_chunk of ballast.h. */
typedef struct ballast_attention_chunk {
    uint32_t piece;  /* index of the piece */
    uint32_t start;  /* first token, counted from the start of the piece */
    uint32_t length; /* tokens, at least 1 */
} ballast_attention_chunk;

/*
 * One micro-batch on one rank. Chunks stand in the order of piece, then start, and do not overlap:
 * the order in which Ballast lists them.
 */
typedef struct ballast_attention_plan {
    size_t size;      /* sizeof(ballast_attention_plan), by the INIT macro */
    uint32_t version; /* 1, by the INIT macro */
    uint32_t piece_count;
    const uint32_t *cu_seqlens;            /* [piece_count + 1] first token of each piece, from 0 */
    const ballast_attention_chunk *chunks; /* [chunk_count] whose tokens are the query rows */
    uint32_t chunk_count;
    uint32_t padded_tokens; /* query rows with padding; 0: none */

    /*
     * Which tokens the key rows are: NULL for the whole micro-batch, or chunks like those of the
     * queries, chunk after chunk; then a query sees those of its piece that are not after it. A
     * ring of ranks needs that, where each step brings another rank's keys.
     */
    const ballast_attention_chunk *key_chunks;
    uint32_t key_chunk_count;
} ballast_attention_plan;

#ifdef __cplusplus
#define BALLAST_ATTENTION_PLAN_INIT                                                                \
    {                                                                                              \
        sizeof(ballast_attention_plan), 1, 0, nullptr, nullptr, 0, 0, nullptr, 0                   \
    }
#else
#define BALLAST_ATTENTION_PLAN_INIT                                                                \
    {                                                                                              \
        .size = sizeof(ballast_attention_plan), .version = 1                                       \
    }
#endif

/* A plan with its tiles, in host memory. */
typedef struct ballast_attention_problem ballast_attention_problem;

/*
 * Checks layout and plan and lists the tiles; neither is needed afterwards. On success
 * *ret_problem is the caller's until ballast_attention_problem_free. Does not touch the device.
 * Errors: INVALID, NO_MEMORY; UNSUPPORTED for a group or a head dimension without a kernel.
 */
BALLAST_ATTENTION_API ballast_attention_status ballast_attention_problem_new(
    const ballast_attention_layout *layout, const ballast_attention_plan *plan,
    ballast_attention_problem **ret_problem, ballast_attention_error *error);

/* Frees a problem whose upload has passed its stream; calls need not have. NULL is accepted. */
BALLAST_ATTENTION_API void ballast_attention_problem_free(ballast_attention_problem *problem);

/* What a problem comes to. */
typedef struct ballast_attention_facts {
    uint32_t local_tokens;  /* query rows without padding */
    uint32_t padded_tokens; /* query rows */
    uint32_t key_tokens;    /* rows of k and v */
    uint32_t query_tiles;   /* of one KV head; forward and q_gradient */
    uint32_t key_tiles;     /* of one KV head; k_gradient and v_gradient */
    uint64_t pairs;         /* query-key pairs of one query head */
    uint64_t tile_pairs; /* the same as the tiles compute them: masked ones and filling included */
} ballast_attention_facts;

BALLAST_ATTENTION_API void ballast_attention_get_facts(const ballast_attention_problem *problem,
                                                       ballast_attention_facts *ret_facts);

/*
 * Bytes of device memory that the problem needs from ballast_attention_upload until its last call
 * has passed the stream. Never 0.
 */
BALLAST_ATTENTION_API size_t
ballast_attention_workspace_bytes(const ballast_attention_problem *problem);

/*
 * Puts the tiles into the workspace, which the problem remembers. Before the first forward or
 * backward, on their stream or one they wait for. Keep the problem until the stream has passed it.
 * Errors: INVALID for a workspace that is too small or not aligned; DEVICE.
 */
BALLAST_ATTENTION_API ballast_attention_status ballast_attention_upload(
    ballast_attention_problem *problem, void *workspace, size_t workspace_bytes,
    ballast_attention_stream stream, ballast_attention_error *error);

/*
 * KV heads that one call covers: from `first`, `count` of them, 0 meaning all that follow. Query
 * tensors and lse are always given whole, as if the call covered all heads; k, v and their
 * gradients begin with KV head `first`, so that a buffer may hold the group's heads alone.
 */
typedef struct ballast_attention_heads {
    uint32_t first, count;
} ballast_attention_heads;

typedef struct ballast_attention_forward_call {
    size_t size;      /* sizeof(ballast_attention_forward_call), by the INIT macro */
    uint32_t version; /* 1, by the INIT macro */
    ballast_attention_heads kv_heads;
    const void *q;
    const void *k;
    const void *v;
    void *out;
    float *lse;                      /* may not be NULL */
    ballast_attention_type out_type; /* the layout's type, or F32 */
    /* Elements from a row to the next; 0: dense, for k and v over the heads of the call. */
    int64_t q_stride, k_stride, v_stride, out_stride;
} ballast_attention_forward_call;

/* Attention: out and lse of the call's heads. Errors: INVALID, UNSUPPORTED, DEVICE. */
BALLAST_ATTENTION_API ballast_attention_status ballast_attention_forward(
    const ballast_attention_problem *problem, const ballast_attention_forward_call *call,
    ballast_attention_stream stream, ballast_attention_error *error);

typedef struct ballast_attention_backward_call {
    size_t size;      /* sizeof(ballast_attention_backward_call), by the INIT macro */
    uint32_t version; /* 1, by the INIT macro */
    ballast_attention_heads kv_heads;
    const void *q;
    const void *k;
    const void *v;
    const void *out;  /* over all that a query sees, also where this call has a part of the keys */
    const float *lse; /* likewise */
    const void *out_gradient;
    void *q_gradient;
    void *k_gradient;
    void *v_gradient;
    ballast_attention_type out_type;         /* the layout's type, or F32 */
    ballast_attention_type q_gradient_type;  /* likewise */
    ballast_attention_type kv_gradient_type; /* likewise, of both */
    int64_t q_stride, k_stride, v_stride, out_stride, out_gradient_stride; /* as forward */
    int64_t q_gradient_stride, k_gradient_stride, v_gradient_stride;
} ballast_attention_backward_call;

/* Gradients of q, k and v of the call's heads. Errors: INVALID, UNSUPPORTED, DEVICE. */
BALLAST_ATTENTION_API ballast_attention_status ballast_attention_backward(
    const ballast_attention_problem *problem, const ballast_attention_backward_call *call,
    ballast_attention_stream stream, ballast_attention_error *error);

#ifdef __cplusplus
#define BALLAST_ATTENTION_FORWARD_INIT                                                             \
    {                                                                                              \
        sizeof(ballast_attention_forward_call), 1, { 0, 0 }, nullptr, nullptr, nullptr, nullptr,   \
            nullptr, BALLAST_ATTENTION_BF16, 0, 0, 0, 0                                            \
    }
#define BALLAST_ATTENTION_BACKWARD_INIT                                                            \
    {                                                                                              \
        sizeof(ballast_attention_backward_call), 1, { 0, 0 }, nullptr, nullptr, nullptr, nullptr,  \
            nullptr, nullptr, nullptr, nullptr, nullptr, BALLAST_ATTENTION_BF16,                   \
            BALLAST_ATTENTION_BF16, BALLAST_ATTENTION_BF16, 0, 0, 0, 0, 0, 0, 0, 0                 \
    }
#else
#define BALLAST_ATTENTION_FORWARD_INIT                                                             \
    {                                                                                              \
        .size = sizeof(ballast_attention_forward_call), .version = 1                               \
    }
#define BALLAST_ATTENTION_BACKWARD_INIT                                                            \
    {                                                                                              \
        .size = sizeof(ballast_attention_backward_call), .version = 1                              \
    }
#endif

#ifdef __cplusplus
}
#endif

#endif
