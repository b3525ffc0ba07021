/*
 * kernels/cp with the real NCCL on one GPU: one_rank. NCCL takes one rank a GPU, so the group has
 * one; it gathers from itself, and sends to itself round the ring. Forward and backward of both
 * variants must give the bits that attention without ranks gives. Then what only NCCL can show: a
 * rank that does not come, an abort, and that the process goes on after both.
 */
#include <ballast/attention_cp.h>
#include <cuda_runtime.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 8, KV_HEADS = 2, HEAD_DIM = 128, PIECES = 3, TOKENS = 500, PADDED = 512 };

/* Of q, k, v, out_gradient, and of out and the gradients, in values. */
enum { QUERY_VALUES = PADDED * HEADS * HEAD_DIM, KEY_VALUES = PADDED * KV_HEADS * HEAD_DIM };

static const uint32_t cu_seqlens[PIECES + 1] = { 0, 1, 300, TOKENS };
static const ballast_attention_chunk chunks[PIECES] = { { 0, 0, 1 }, { 1, 0, 299 }, { 2, 0, 200 } };
static const uint32_t rank_chunks[2] = { 0, PIECES };

/* Inputs are the same for all; results are one run's. */
struct tensors {
    uint16_t *q, *k, *v, *out_gradient;
    uint16_t *out, *q_gradient;
    float *k_gradient, *v_gradient, *lse;
};

static bool check(bool good, const char *what, const char *why)
{
    printf("%s %s%s%s\n", good ? "ok" : "BAD", what, good ? "" : ": ", good ? "" : why);
    return good;
}

static void *device(size_t bytes)
{
    void *memory = NULL;
    if (cudaMalloc(&memory, bytes) != cudaSuccess || cudaMemset(memory, 0xff, bytes) != cudaSuccess)
        exit(!check(false, "allocating", "CUDA refused"));
    return memory;
}

/* bf16 between -1 and 1: 7 bits of fraction, exponents of 1/8 up to 1. */
static uint16_t *random_tensor(size_t count)
{
    uint16_t *values = malloc(count * sizeof *values), *memory = device(count * sizeof *values);
    static uint64_t state = 1;
    for (size_t i = 0; i < count; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        values[i] = (uint16_t)((state >> 63) << 15 | (0x3e00 + (state >> 40) % 0x180));
    }
    cudaMemcpy(memory, values, count * sizeof *values, cudaMemcpyHostToDevice);
    free(values);
    return memory;
}

static struct tensors with_results(const struct tensors *inputs)
{
    struct tensors tensors = *inputs;
    tensors.out = device(QUERY_VALUES * sizeof(uint16_t));
    tensors.q_gradient = device(QUERY_VALUES * sizeof(uint16_t));
    tensors.k_gradient = device(KEY_VALUES * sizeof(float));
    tensors.v_gradient = device(KEY_VALUES * sizeof(float));
    tensors.lse = device((size_t)PADDED * HEADS * sizeof(float));
    return tensors;
}

static ballast_attention_layout layout(void)
{
    ballast_attention_layout layout = BALLAST_ATTENTION_LAYOUT_INIT;
    layout.heads = HEADS;
    layout.kv_heads = KV_HEADS;
    layout.head_dim = HEAD_DIM;
    return layout;
}

static ballast_attention_forward_call forward_of(const struct tensors *tensors)
{
    ballast_attention_forward_call call = BALLAST_ATTENTION_FORWARD_INIT;
    call.q = tensors->q;
    call.k = tensors->k;
    call.v = tensors->v;
    call.out = tensors->out;
    call.lse = tensors->lse;
    return call;
}

static ballast_attention_backward_call backward_of(const struct tensors *tensors)
{
    ballast_attention_backward_call call = BALLAST_ATTENTION_BACKWARD_INIT;
    call.q = tensors->q;
    call.k = tensors->k;
    call.v = tensors->v;
    call.out = tensors->out;
    call.lse = tensors->lse;
    call.out_gradient = tensors->out_gradient;
    call.q_gradient = tensors->q_gradient;
    call.k_gradient = tensors->k_gradient;
    call.v_gradient = tensors->v_gradient;
    call.kv_gradient_type = BALLAST_ATTENTION_F32;
    return call;
}

static bool run_alone(const struct tensors *tensors, ballast_attention_error *error)
{
    ballast_attention_layout with = layout();
    ballast_attention_plan plan = BALLAST_ATTENTION_PLAN_INIT;
    plan.piece_count = plan.chunk_count = PIECES;
    plan.cu_seqlens = cu_seqlens;
    plan.chunks = chunks;
    plan.padded_tokens = PADDED;
    ballast_attention_problem *problem;
    ballast_attention_forward_call forward = forward_of(tensors);
    ballast_attention_backward_call backward = backward_of(tensors);
    if (ballast_attention_problem_new(&with, &plan, &problem, error) != BALLAST_ATTENTION_OK)
        return false;
    size_t bytes = ballast_attention_workspace_bytes(problem);
    void *workspace = device(bytes);
    bool good =
        ballast_attention_upload(problem, workspace, bytes, NULL, error) == BALLAST_ATTENTION_OK &&
        ballast_attention_forward(problem, &forward, NULL, error) == BALLAST_ATTENTION_OK &&
        ballast_attention_backward(problem, &backward, NULL, error) == BALLAST_ATTENTION_OK &&
        cudaDeviceSynchronize() == cudaSuccess;
    ballast_attention_problem_free(problem);
    cudaFree(workspace);
    return good;
}

static bool run_in_group(ballast_attention_cp *cp, ballast_attention_cp_variant variant,
                         const struct tensors *tensors, cudaStream_t stream,
                         ballast_attention_error *error)
{
    ballast_attention_layout with = layout();
    ballast_attention_cp_plan plan = BALLAST_ATTENTION_CP_PLAN_INIT;
    plan.variant = variant;
    plan.ranks = 1;
    plan.piece_count = PIECES;
    plan.cu_seqlens = cu_seqlens;
    plan.chunks = chunks;
    plan.rank_chunks = rank_chunks;
    plan.padded_tokens = PADDED;
    plan.kv_head_groups = variant == BALLAST_ATTENTION_CP_ALL_GATHER ? KV_HEADS : 0;
    ballast_attention_cp_problem *problem;
    ballast_attention_forward_call forward = forward_of(tensors);
    ballast_attention_backward_call backward = backward_of(tensors);
    if (ballast_attention_cp_problem_new(&with, &plan, &problem, error) != BALLAST_ATTENTION_OK)
        return false;
    size_t bytes = ballast_attention_cp_workspace_bytes(problem);
    void *workspace = device(bytes);
    bool good = ballast_attention_cp_upload(problem, workspace, bytes, stream, error) ==
                    BALLAST_ATTENTION_OK &&
                ballast_attention_cp_forward(cp, problem, &forward, stream, error) ==
                    BALLAST_ATTENTION_OK &&
                ballast_attention_cp_backward(cp, problem, &backward, stream, error) ==
                    BALLAST_ATTENTION_OK &&
                ballast_attention_cp_wait(cp, stream, error) == BALLAST_ATTENTION_OK;
    cudaStreamSynchronize(stream);
    ballast_attention_cp_problem_free(problem);
    cudaFree(workspace);
    return good;
}

static bool same(const void *one, const void *other, size_t bytes)
{
    void *a = malloc(bytes), *b = malloc(bytes);
    bool good = a && b && cudaMemcpy(a, one, bytes, cudaMemcpyDeviceToHost) == cudaSuccess &&
                cudaMemcpy(b, other, bytes, cudaMemcpyDeviceToHost) == cudaSuccess &&
                memcmp(a, b, bytes) == 0;
    free(a);
    free(b);
    return good;
}

/* Of keys the rows of tokens only: attention without ranks does not know their padding. */
static bool compare(const struct tensors *is, const struct tensors *should, const char *variant)
{
    const size_t keys = (size_t)TOKENS * KV_HEADS * HEAD_DIM * sizeof(float);
    const size_t queries = QUERY_VALUES * sizeof(uint16_t);
    bool good = same(is->out, should->out, queries) &&
                same(is->lse, should->lse, (size_t)PADDED * HEADS * sizeof(float)) &&
                same(is->q_gradient, should->q_gradient, queries) &&
                same(is->k_gradient, should->k_gradient, keys) &&
                same(is->v_gradient, should->v_gradient, keys);
    return check(good, variant, "results differ from attention without ranks");
}

static ballast_attention_status open_group(uint32_t ranks, uint32_t timeout_ms,
                                           ballast_attention_cp **ret_cp,
                                           ballast_attention_error *error)
{
    ballast_attention_cp_options options = BALLAST_ATTENTION_CP_OPTIONS_INIT;
    options.ranks = ranks;
    options.timeout_ms = timeout_ms;
    ballast_attention_status status = ballast_attention_cp_make_id(&options.id, error);
    return status == BALLAST_ATTENTION_OK ? ballast_attention_cp_open(&options, ret_cp, error)
                                          : status;
}

static bool check_variants(const struct tensors *inputs, cudaStream_t stream)
{
    const char *names[] = { "all-gather, one rank", "ring, one rank" };
    ballast_attention_error error = { "" };
    ballast_attention_cp *cp;
    struct tensors alone = with_results(inputs);
    if (!check(run_alone(&alone, &error), "without ranks", error.text) ||
        !check(open_group(1, 0, &cp, &error) == BALLAST_ATTENTION_OK, "joining", error.text))
        return false;
    bool good = true;
    for (int i = 0; i < 2; i++) {
        struct tensors results = with_results(inputs);
        good = check(run_in_group(cp, (ballast_attention_cp_variant)i, &results, stream, &error),
                     names[i], error.text) &&
               compare(&results, &alone, names[i]) && good;
    }
    ballast_attention_cp_close(cp);
    return good;
}

static bool check_failures(const struct tensors *inputs, cudaStream_t stream)
{
    ballast_attention_error error = { "" };
    ballast_attention_cp *cp = NULL;
    bool good = check(open_group(2, 3000, &cp, &error) == BALLAST_ATTENTION_TIMEOUT,
                      "a rank that does not come", error.text);
    good = check(open_group(1, 0, &cp, &error) == BALLAST_ATTENTION_OK, "joining after that",
                 error.text) &&
           good;
    if (!cp)
        return false;
    struct tensors results = with_results(inputs);
    ballast_attention_cp_abort(cp);
    run_in_group(cp, BALLAST_ATTENTION_CP_ALL_GATHER, &results, stream, &error);
    good = check(strcmp(error.text, "the group was aborted") == 0, "an abort", error.text) && good;
    ballast_attention_cp_close(cp);
    return check_variants(inputs, stream) && good;
}

int main(void)
{
    struct tensors inputs = { .q = random_tensor(QUERY_VALUES),
                              .k = random_tensor(KEY_VALUES),
                              .v = random_tensor(KEY_VALUES),
                              .out_gradient = random_tensor(QUERY_VALUES) };
    cudaStream_t stream;
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess)
        return !check(false, "a stream", "CUDA refused");
    bool good = check_variants(&inputs, stream);
    good = check_failures(&inputs, stream) && good;
    cudaStreamDestroy(stream);
    return good ? 0 : 1;
}
