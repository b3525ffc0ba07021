#include "job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/half/half.h"

#define TILE 128

static uint16_t bits_of(const struct job *job, float value)
{
    return job->type == BALLAST_ATTENTION_BF16 ? bf16_from_float(value) : fp16_from_float(value);
}

/* Numbers between -1 and 1 from a generator of our own, the same everywhere. */
static float next_number(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (float)((double)(*state >> 40) / (1 << 23) - 1.0);
}

static uint16_t *numbers(const struct job *job, uint32_t heads, uint64_t *state)
{
    size_t count = (size_t)job->tokens * heads * job->head_dim;
    uint16_t *values = malloc(count * sizeof *values);
    for (size_t i = 0; values && i < count; i++)
        values[i] = bits_of(job, 2 * next_number(state));
    return values;
}

static bool plan(struct job *job)
{
    struct piece pieces[JOB_MOST_PIECES] = { { 0 } };
    for (uint32_t i = 0; i < job->piece_count; i++)
        pieces[i].length = job->lengths[i];
    struct cp_options options = { job->strategy, job->ranks, TILE,
                                  job->pad_to_multiple ? job->pad_to_multiple : 1 };
    struct error error = { 0 };
    if (cp_shard(&options, pieces, job->piece_count, &job->shards, &error) != 0)
        return false;
    for (uint32_t i = 0; i < job->ranks; i++)
        job->rank_chunks[i + 1] = job->shards.ranks[i].first + job->shards.ranks[i].count;
    job->padded_tokens = job->shards.padded_tokens;
    return true;
}

bool job_init(struct job *job, uint32_t seed)
{
    uint64_t state = seed;
    job->piece_count = job->tokens = 0;
    while (job->lengths[job->piece_count]) {
        job->tokens += job->lengths[job->piece_count++];
        job->cu_seqlens[job->piece_count] = job->tokens;
    }
    job->q = numbers(job, job->heads, &state);
    job->k = numbers(job, job->kv_heads, &state);
    job->v = numbers(job, job->kv_heads, &state);
    job->out_gradient = numbers(job, job->heads, &state);
    return job->q && job->k && job->v && job->out_gradient && plan(job) &&
           ballast_attention_cp_make_id(&job->id, NULL) == BALLAST_ATTENTION_OK;
}

void job_fini(struct job *job)
{
    free(job->q);
    free(job->k);
    free(job->v);
    free(job->out_gradient);
    cp_shards_fini(&job->shards);
}

static double *unknown(size_t count)
{
    double *values = malloc(count * sizeof *values);
    for (size_t i = 0; values && i < count; i++)
        values[i] = (double)NAN;
    return values;
}

bool job_results_init(const struct job *job, struct job_results *results)
{
    size_t rows = job->tokens;
    size_t queries = rows * job->heads * job->head_dim, keys = rows * job->kv_heads * job->head_dim;
    *results = (struct job_results){ unknown(queries), unknown(rows * job->heads), unknown(queries),
                                     unknown(keys), unknown(keys) };
    return results->out && results->lse && results->q_gradient && results->k_gradient &&
           results->v_gradient;
}

void job_results_fini(struct job_results *results)
{
    free(results->out);
    free(results->lse);
    free(results->q_gradient);
    free(results->k_gradient);
    free(results->v_gradient);
}

ballast_attention_layout job_layout(const struct job *job)
{
    ballast_attention_layout layout = BALLAST_ATTENTION_LAYOUT_INIT;
    layout.type = job->type;
    layout.heads = job->heads;
    layout.kv_heads = job->kv_heads;
    layout.head_dim = job->head_dim;
    layout.path = job->path;
    return layout;
}

_Static_assert(sizeof(struct chunk) == sizeof(ballast_attention_chunk), "one table, two names");

ballast_attention_cp_plan job_plan(const struct job *job, uint32_t rank)
{
    ballast_attention_cp_plan plan = BALLAST_ATTENTION_CP_PLAN_INIT;
    plan.variant = job->variant;
    plan.ranks = job->ranks;
    plan.rank = rank;
    plan.piece_count = job->piece_count;
    plan.cu_seqlens = job->cu_seqlens;
    plan.chunks = (const ballast_attention_chunk *)(const void *)job->shards.chunks;
    plan.rank_chunks = job->rank_chunks;
    plan.padded_tokens = job->padded_tokens;
    plan.kv_head_groups = job->kv_head_groups;
    return plan;
}

static double norm_of_difference(const double *one, const double *other, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (one[i] - other[i]) * (one[i] - other[i]);
    return sqrt(sum);
}

const char *job_difference(const struct job *job, const struct job_results *results,
                           const struct job_results *exact, const struct job_results *rounded,
                           double factor)
{
    static _Thread_local char text[128];
    size_t rows = job->tokens, queries = rows * job->heads * job->head_dim;
    size_t keys = rows * job->kv_heads * job->head_dim;
    const struct {
        const char *name;
        const double *is, *exact, *rounded;
        size_t count;
    } tensors[] = {
        { "out", results->out, exact->out, rounded->out, queries },
        { "lse", results->lse, exact->lse, rounded->lse, rows * job->heads },
        { "q_gradient", results->q_gradient, exact->q_gradient, rounded->q_gradient, queries },
        { "k_gradient", results->k_gradient, exact->k_gradient, rounded->k_gradient, keys },
        { "v_gradient", results->v_gradient, exact->v_gradient, rounded->v_gradient, keys },
    };
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        double error = norm_of_difference(tensors[i].is, tensors[i].exact, tensors[i].count);
        double plain = norm_of_difference(tensors[i].rounded, tensors[i].exact, tensors[i].count);
        if (error <= factor * plain)
            continue;
        snprintf(text, sizeof text, "%s: error %g, a plain implementation's %g", tensors[i].name,
                 error, plain);
        return text;
    }
    return NULL;
}
