#include "job_rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/half/half.h"

/* The tokens of a rank: their rows on the rank and in the sequence. */
struct row_walk {
    const struct job *job;
    uint32_t chunk, end, offset, local;
};

static struct row_walk row_walk_of(const struct job *job, uint32_t rank)
{
    return (struct row_walk){ job, job->rank_chunks[rank], job->rank_chunks[rank + 1], 0, 0 };
}

static bool row_walk_next(struct row_walk *walk, uint32_t *local, uint32_t *token)
{
    if (walk->chunk == walk->end)
        return false;
    const struct chunk *chunk = &walk->job->shards.chunks[walk->chunk];
    *local = walk->local++;
    *token = walk->job->cu_seqlens[chunk->piece] + chunk->start + walk->offset;
    if (++walk->offset == chunk->length) {
        walk->offset = 0;
        walk->chunk++;
    }
    return true;
}

static size_t row_values(const struct job *job, uint32_t heads)
{
    return (size_t)heads * job->head_dim;
}

static void *device_memory(const struct job *job, size_t bytes)
{
    void *memory = NULL;
    if (cudaMalloc(&memory, bytes ? bytes : 1) != cudaSuccess)
        return NULL;
    if (job->cut_off)
        cudaMemset(memory, 0, bytes);
    return memory;
}

/* The rank's rows of a tensor of the sequence; rows of padding hold numbers that must not matter.
 */
static void *rows_of(const struct job *job, uint32_t rank, const uint16_t *tensor, uint32_t heads)
{
    size_t row = row_values(job, heads), count = row * job->padded_tokens;
    uint16_t *values = malloc((count ? count : 1) * sizeof *values);
    void *memory = device_memory(job, count * sizeof *values);
    uint32_t local, token;
    for (size_t i = 0; values && i < count; i++)
        values[i] = bf16_from_float(3.0F);
    struct row_walk walk = row_walk_of(job, rank);
    while (values && row_walk_next(&walk, &local, &token))
        memcpy(values + local * row, tensor + token * row, row * sizeof *values);
    if (values && memory)
        cudaMemcpy(memory, values, count * sizeof *values, cudaMemcpyHostToDevice);
    free(values);
    return memory;
}

static size_t gradient_bytes(const struct job *job)
{
    return job->gradient_type == BALLAST_ATTENTION_F32 ? sizeof(float) : sizeof(uint16_t);
}

bool rank_tensors_init(const struct job *job, uint32_t rank, size_t workspace_bytes,
                       struct rank_tensors *tensors)
{
    size_t queries = row_values(job, job->heads) * job->padded_tokens * sizeof(uint16_t);
    size_t keys = row_values(job, job->kv_heads) * job->padded_tokens * gradient_bytes(job);
    *tensors = (struct rank_tensors){
        .workspace = device_memory(job, workspace_bytes),
        .q = rows_of(job, rank, job->q, job->heads),
        .k = rows_of(job, rank, job->k, job->kv_heads),
        .v = rows_of(job, rank, job->v, job->kv_heads),
        .out_gradient = rows_of(job, rank, job->out_gradient, job->heads),
        .out = device_memory(job, queries),
        .q_gradient = device_memory(job, queries),
        .k_gradient = device_memory(job, keys),
        .v_gradient = device_memory(job, keys),
        .lse = device_memory(job, (size_t)job->heads * job->padded_tokens * sizeof(float)),
    };
    bool good = tensors->workspace && tensors->q && tensors->k && tensors->v && tensors->out &&
                tensors->out_gradient && tensors->q_gradient && tensors->k_gradient &&
                tensors->v_gradient && tensors->lse;
    return good && cudaStreamCreate(&tensors->stream) == cudaSuccess;
}

void rank_tensors_fini(struct rank_tensors *tensors)
{
    if (tensors->stream) {
        cudaStreamSynchronize(tensors->stream);
        cudaStreamDestroy(tensors->stream);
    }
    void *memory[] = { tensors->workspace,  tensors->q,          tensors->k,
                       tensors->v,          tensors->out,        tensors->out_gradient,
                       tensors->q_gradient, tensors->k_gradient, tensors->v_gradient,
                       tensors->lse };
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        cudaFree(memory[i]);
}

ballast_attention_forward_call rank_forward(const struct rank_tensors *tensors,
                                            const struct job *job)
{
    ballast_attention_forward_call call = BALLAST_ATTENTION_FORWARD_INIT;
    call.q = tensors->q;
    call.k = tensors->k;
    call.v = tensors->v;
    call.out = tensors->out;
    call.lse = tensors->lse;
    call.out_type = job->type;
    return call;
}

ballast_attention_backward_call rank_backward(const struct rank_tensors *tensors,
                                              const struct job *job)
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
    call.out_type = call.q_gradient_type = job->type;
    call.kv_gradient_type =
        job->gradient_type == BALLAST_ATTENTION_F32 ? BALLAST_ATTENTION_F32 : job->type;
    return call;
}

static double read_value(ballast_attention_type type, const void *values, size_t index)
{
    const uint16_t *halves = values;
    switch (type) {
    case BALLAST_ATTENTION_BF16:
        return bf16_to_float(halves[index]);
    case BALLAST_ATTENTION_F16:
        return fp16_to_float(halves[index]);
    case BALLAST_ATTENTION_F32:
        break;
    }
    return ((const float *)values)[index];
}

/* Rows of a tensor into those of the sequence; false where padding is not zero. */
static bool take(const struct job *job, uint32_t rank, const void *tensor, uint32_t heads,
                 ballast_attention_type type, double *to)
{
    size_t row = row_values(job, heads), count = row * job->padded_tokens;
    size_t bytes = count * (type == BALLAST_ATTENTION_F32 ? sizeof(float) : sizeof(uint16_t));
    void *values = malloc(bytes ? bytes : 1);
    if (!values || cudaMemcpy(values, tensor, bytes, cudaMemcpyDeviceToHost) != cudaSuccess) {
        free(values);
        return false;
    }
    uint32_t local, token, rows = 0;
    for (struct row_walk walk = row_walk_of(job, rank); row_walk_next(&walk, &local, &token);
         rows++)
        for (size_t i = 0; i < row; i++)
            to[token * row + i] = read_value(type, values, local * row + i);
    bool zero = true;
    for (size_t i = rows * row; i < count; i++)
        zero = zero && read_value(type, values, i) == 0;
    free(values);
    return zero;
}

/* lse is [heads, rows] on both sides; padding has none. */
static bool take_lse(const struct job *job, uint32_t rank, const float *tensor, double *to)
{
    size_t padded = job->padded_tokens, count = padded * job->heads;
    float *values = malloc((count ? count : 1) * sizeof *values);
    if (!values ||
        cudaMemcpy(values, tensor, count * sizeof *values, cudaMemcpyDeviceToHost) != cudaSuccess) {
        free(values);
        return false;
    }
    uint32_t local, token, rows = 0;
    for (struct row_walk walk = row_walk_of(job, rank); row_walk_next(&walk, &local, &token);
         rows++)
        for (size_t head = 0; head < job->heads; head++)
            to[head * job->tokens + token] = values[head * padded + local];
    bool none = true;
    for (size_t head = 0; head < job->heads; head++)
        for (size_t i = rows; i < padded; i++)
            none = none && values[head * padded + i] == -INFINITY;
    free(values);
    return none;
}

void rank_results(const struct rank_tensors *tensors, const struct job *job, uint32_t rank,
                  struct job_results *results, bool *ret_padding_is_zero)
{
    ballast_attention_type gradients = rank_backward(tensors, job).kv_gradient_type;
    bool zero[] = {
        take(job, rank, tensors->out, job->heads, job->type, results->out),
        take(job, rank, tensors->q_gradient, job->heads, job->type, results->q_gradient),
        take(job, rank, tensors->k_gradient, job->kv_heads, gradients, results->k_gradient),
        take(job, rank, tensors->v_gradient, job->kv_heads, gradients, results->v_gradient),
        take_lse(job, rank, tensors->lse, results->lse),
    };
    *ret_padding_is_zero = zero[0] && zero[1] && zero[2] && zero[3] && zero[4];
}
