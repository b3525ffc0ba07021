#include "kernels/example/attention.h"

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

/* A batch's chunks are what the kernels want. */
_Static_assert(sizeof(ballast_chunk) == sizeof(ballast_attention_chunk),
               "chunks are laid out alike");

static bool fail(struct attention *attention, const char *what)
{
    snprintf(attention->error.text, sizeof attention->error.text, "%s: %s", what,
             cudaGetErrorString(cudaGetLastError()));
    return false;
}

static ballast_attention_layout layout(void)
{
    ballast_attention_layout layout = BALLAST_ATTENTION_LAYOUT_INIT;
    layout.type = BALLAST_ATTENTION_BF16;
    layout.heads = HEADS;
    layout.kv_heads = KV_HEADS;
    layout.head_dim = HEAD_DIM;
    return layout;
}

/* This rank's share, as the batch lists it. */
static bool plan_share(struct attention *attention, const ballast_view *view)
{
    ballast_attention_layout with = layout();
    ballast_attention_cp_plan plan = BALLAST_ATTENTION_CP_PLAN_INIT;
    plan.variant = BALLAST_ATTENTION_CP_ALL_GATHER;
    plan.ranks = view->cp;
    plan.rank = view->cp_rank;
    plan.piece_count = view->piece_count;
    plan.cu_seqlens = view->cu_seqlens;
    plan.chunks = (const ballast_attention_chunk *)(const void *)view->chunks;
    plan.rank_chunks = view->rank_chunks;
    plan.padded_tokens = view->padded_tokens;
    plan.kv_head_groups = KV_HEADS; /* one head at a time, so that there is something to overlap */
    return ballast_attention_cp_problem_new(&with, &plan, &attention->share, &attention->error) ==
           BALLAST_ATTENTION_OK;
}

/* Every piece as one chunk. */
static bool plan_whole(struct attention *attention, const ballast_view *view)
{
    ballast_attention_layout with = layout();
    ballast_attention_plan plan = BALLAST_ATTENTION_PLAN_INIT;
    ballast_attention_chunk *chunks = calloc(view->piece_count, sizeof *chunks);
    for (uint32_t i = 0; chunks && i < view->piece_count; i++)
        chunks[i] = (ballast_attention_chunk){ i, 0, view->pieces[i].length };
    plan.piece_count = plan.chunk_count = view->piece_count;
    plan.cu_seqlens = view->cu_seqlens;
    plan.chunks = chunks;
    bool good = chunks && ballast_attention_problem_new(&with, &plan, &attention->whole,
                                                        &attention->error) == BALLAST_ATTENTION_OK;
    free(chunks);
    return good;
}

static bool allocate(void **memory, size_t bytes)
{
    return cudaMalloc(memory, bytes) == cudaSuccess;
}

static bool allocate_tensors(struct attention *attention, size_t rows)
{
    void *lse = NULL;
    bool good = true;
    void **wide[] = { &attention->q, &attention->out, &attention->q_gradient,
                      &attention->out_gradient };
    void **narrow[] = { &attention->k, &attention->v, &attention->k_gradient,
                        &attention->v_gradient };
    for (int i = 0; good && i < 4; i++)
        good = allocate(wide[i], rows * QUERY_WIDTH * sizeof(uint16_t)) &&
               allocate(narrow[i], rows * KEY_WIDTH * sizeof(uint16_t));
    good = good && allocate(&lse, rows * HEADS * sizeof(float));
    attention->lse = lse;
    return good || fail(attention, "allocating tensors");
}

static bool upload(struct attention *attention)
{
    size_t bytes = attention->cp ? ballast_attention_cp_workspace_bytes(attention->share)
                                 : ballast_attention_workspace_bytes(attention->whole);
    if (!allocate(&attention->workspace, bytes))
        return fail(attention, "allocating the workspace");
    ballast_attention_status status =
        attention->cp ? ballast_attention_cp_upload(attention->share, attention->workspace, bytes,
                                                    attention->stream, &attention->error)
                      : ballast_attention_upload(attention->whole, attention->workspace, bytes,
                                                 attention->stream, &attention->error);
    return status == BALLAST_ATTENTION_OK;
}

bool attention_init(struct attention *attention, ballast_attention_cp *cp, const ballast_view *view)
{
    *attention = (struct attention){ .cp = cp };
    if (cudaStreamCreateWithFlags(&attention->stream, cudaStreamNonBlocking) != cudaSuccess)
        return fail(attention, "making a stream");
    if (cp)
        return plan_share(attention, view) && allocate_tensors(attention, view->padded_tokens) &&
               upload(attention);
    return plan_whole(attention, view) && allocate_tensors(attention, view->microbatch_tokens) &&
           upload(attention);
}

void attention_fini(struct attention *attention)
{
    void *memory[] = { attention->workspace,  attention->q,          attention->k,
                       attention->v,          attention->out,        attention->q_gradient,
                       attention->k_gradient, attention->v_gradient, attention->out_gradient,
                       attention->lse };
    if (attention->stream) {
        cudaStreamSynchronize(attention->stream); /* runs empty, also when the group was aborted */
        cudaStreamDestroy(attention->stream);
    }
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        cudaFree(memory[i]);
    ballast_attention_cp_problem_free(attention->share);
    ballast_attention_problem_free(attention->whole);
}

static bool copy(struct attention *attention, void *to, const void *from, size_t rows, size_t width,
                 enum cudaMemcpyKind kind)
{
    cudaError_t result =
        cudaMemcpyAsync(to, from, rows * width * sizeof(uint16_t), kind, attention->stream);
    return result == cudaSuccess || fail(attention, "copying");
}

/* Instead of waiting for the stream alone, which another rank's death could make endless. */
static bool await(struct attention *attention)
{
    if (attention->cp)
        return ballast_attention_cp_wait(attention->cp, attention->stream, &attention->error) ==
               BALLAST_ATTENTION_OK;
    return cudaStreamSynchronize(attention->stream) == cudaSuccess || fail(attention, "waiting");
}

static ballast_attention_status call_forward(struct attention *attention)
{
    ballast_attention_forward_call call = BALLAST_ATTENTION_FORWARD_INIT;
    call.q = attention->q;
    call.k = attention->k;
    call.v = attention->v;
    call.out = attention->out;
    call.lse = attention->lse;
    return attention->cp ? ballast_attention_cp_forward(attention->cp, attention->share, &call,
                                                        attention->stream, &attention->error)
                         : ballast_attention_forward(attention->whole, &call, attention->stream,
                                                     &attention->error);
}

static ballast_attention_status call_backward(struct attention *attention)
{
    ballast_attention_backward_call call = BALLAST_ATTENTION_BACKWARD_INIT;
    call.q = attention->q;
    call.k = attention->k;
    call.v = attention->v;
    call.out = attention->out;
    call.lse = attention->lse;
    call.out_gradient = attention->out_gradient;
    call.q_gradient = attention->q_gradient;
    call.k_gradient = attention->k_gradient;
    call.v_gradient = attention->v_gradient;
    return attention->cp ? ballast_attention_cp_backward(attention->cp, attention->share, &call,
                                                         attention->stream, &attention->error)
                         : ballast_attention_backward(attention->whole, &call, attention->stream,
                                                      &attention->error);
}

bool attention_forward(struct attention *attention, struct rows *rows)
{
    size_t count = rows->count;
    return copy(attention, attention->q, rows->q, count, QUERY_WIDTH, cudaMemcpyHostToDevice) &&
           copy(attention, attention->k, rows->k, count, KEY_WIDTH, cudaMemcpyHostToDevice) &&
           copy(attention, attention->v, rows->v, count, KEY_WIDTH, cudaMemcpyHostToDevice) &&
           call_forward(attention) == BALLAST_ATTENTION_OK && await(attention) &&
           copy(attention, rows->out, attention->out, count, QUERY_WIDTH, cudaMemcpyDeviceToHost) &&
           await(attention);
}

bool attention_backward(struct attention *attention, struct rows *rows)
{
    size_t count = rows->count;
    return copy(attention, attention->out_gradient, rows->out_gradient, count, QUERY_WIDTH,
                cudaMemcpyHostToDevice) &&
           call_backward(attention) == BALLAST_ATTENTION_OK && await(attention) &&
           copy(attention, rows->q_gradient, attention->q_gradient, count, QUERY_WIDTH,
                cudaMemcpyDeviceToHost) &&
           copy(attention, rows->k_gradient, attention->k_gradient, count, KEY_WIDTH,
                cudaMemcpyDeviceToHost) &&
           copy(attention, rows->v_gradient, attention->v_gradient, count, KEY_WIDTH,
                cudaMemcpyDeviceToHost) &&
           await(attention);
}
