/* A job without ranks, by the reference. */
#include <math.h>
#include <stdlib.h>

#include "job.h"
#include "kernels/half/half.h"
#include "kernels/ref/reference.h"

static double store_bf16(double value)
{
    return bf16_to_float(bf16_from_float((float)value));
}

static double store_f16(double value)
{
    return fp16_to_float(fp16_from_float((float)value));
}

static double *doubles(const struct job *job, const uint16_t *values, uint32_t heads)
{
    size_t count = (size_t)job->tokens * heads * job->head_dim;
    double *wide = malloc(count * sizeof *wide);
    for (size_t i = 0; wide && i < count; i++)
        wide[i] = job->type == BALLAST_ATTENTION_BF16 ? bf16_to_float(values[i])
                                                      : fp16_to_float(values[i]);
    return wide;
}

/* Every row of the sequence with the keys that it sees. */
static void see(const struct job *job, uint32_t *first_key, uint32_t *visible)
{
    for (uint32_t piece = 0; piece < job->piece_count; piece++)
        for (uint32_t row = job->cu_seqlens[piece]; row < job->cu_seqlens[piece + 1]; row++) {
            first_key[row] = job->cu_seqlens[piece];
            visible[row] = row - first_key[row] + 1;
        }
}

struct tensors {
    double *q, *k, *v, *out_gradient;
    uint32_t *first_key, *visible;
};

static bool tensors_init(const struct job *job, struct tensors *tensors)
{
    *tensors = (struct tensors){
        doubles(job, job->q, job->heads),      doubles(job, job->k, job->kv_heads),
        doubles(job, job->v, job->kv_heads),   doubles(job, job->out_gradient, job->heads),
        calloc(job->tokens, sizeof(uint32_t)), calloc(job->tokens, sizeof(uint32_t))
    };
    if (tensors->first_key && tensors->visible)
        see(job, tensors->first_key, tensors->visible);
    return tensors->q && tensors->k && tensors->v && tensors->out_gradient && tensors->first_key &&
           tensors->visible;
}

static void tensors_fini(struct tensors *tensors)
{
    free(tensors->q);
    free(tensors->k);
    free(tensors->v);
    free(tensors->out_gradient);
    free(tensors->first_key);
    free(tensors->visible);
}

bool job_reference(const struct job *job, bool rounded, struct job_results *results)
{
    struct tensors with;
    bool good = tensors_init(job, &with);
    if (good) {
        const struct reference reference = {
            .heads = job->heads,
            .kv_heads = job->kv_heads,
            .head_dim = job->head_dim,
            .scale = 1 / sqrt(job->head_dim),
            .rows = job->tokens,
            .keys = job->tokens,
            .first_key = with.first_key,
            .visible = with.visible,
            .store = !rounded                              ? NULL
                     : job->type == BALLAST_ATTENTION_BF16 ? store_bf16
                                                           : store_f16,
        };
        good = reference_forward(&reference, with.q, with.k, with.v, results->out, results->lse) &&
               reference_backward(&reference, with.q, with.k, with.v, results->out, results->lse,
                                  with.out_gradient, results->q_gradient, results->k_gradient,
                                  results->v_gradient);
    }
    tensors_fini(&with);
    return good;
}
