#include "microbatch.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/half/half.h"
#include "kernels/ref/reference.h"

double half_value(ballast_attention_type type, uint16_t bits)
{
    return type == BALLAST_ATTENTION_BF16 ? bf16_to_float(bits) : fp16_to_float(bits);
}

uint16_t half_bits(ballast_attention_type type, double value)
{
    return type == BALLAST_ATTENTION_BF16 ? bf16_from_float((float)value)
                                          : fp16_from_float((float)value);
}

static double store_bf16(double value)
{
    return bf16_to_float(bf16_from_float((float)value));
}

static double store_fp16(double value)
{
    return fp16_to_float(fp16_from_float((float)value));
}

/* Sums of uniform numbers: near enough to normal ones, of variance 1. */
static double draw(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += rand() / (double)RAND_MAX;
    return sum;
}

static double *random_tensor(size_t count, ballast_attention_type type)
{
    double *values = calloc(count + 1, sizeof *values);
    cr_assert(values);
    for (size_t i = 0; i < count; i++)
        values[i] = half_value(type, half_bits(type, draw()));
    return values;
}

static double *blank_tensor(size_t count)
{
    double *values = malloc((count + 1) * sizeof *values);
    cr_assert(values);
    for (size_t i = 0; i < count; i++)
        values[i] = NAN;
    return values;
}

size_t microbatch_query_values(const struct microbatch *batch)
{
    return (size_t)batch->tokens * batch->layout.heads * batch->layout.head_dim;
}

size_t microbatch_key_values(const struct microbatch *batch)
{
    return (size_t)batch->tokens * batch->layout.kv_heads * batch->layout.head_dim;
}

void results_init(struct results *results, const struct microbatch *batch)
{
    *results = (struct results){
        .out = blank_tensor(microbatch_query_values(batch)),
        .q_gradient = blank_tensor(microbatch_query_values(batch)),
        .k_gradient = blank_tensor(microbatch_key_values(batch)),
        .v_gradient = blank_tensor(microbatch_key_values(batch)),
        .lse = blank_tensor((size_t)batch->layout.heads * batch->tokens),
    };
}

void results_fini(struct results *results)
{
    free(results->out);
    free(results->q_gradient);
    free(results->k_gradient);
    free(results->v_gradient);
    free(results->lse);
}

static void compute(const struct microbatch *batch, const struct reference *reference,
                    struct results *results)
{
    results_init(results, batch);
    cr_assert(
        reference_forward(reference, batch->q, batch->k, batch->v, results->out, results->lse));
    cr_assert(reference_backward(reference, batch->q, batch->k, batch->v, results->out,
                                 results->lse, batch->out_gradient, results->q_gradient,
                                 results->k_gradient, results->v_gradient));
}

static void compute_both(struct microbatch *batch)
{
    const ballast_attention_layout *layout = &batch->layout;
    uint32_t *first_key = calloc((size_t)batch->tokens + 1, sizeof *first_key);
    uint32_t *visible = calloc((size_t)batch->tokens + 1, sizeof *visible);
    cr_assert(first_key && visible);
    for (uint32_t piece = 0; piece < batch->piece_count; piece++)
        for (uint32_t row = batch->cu_seqlens[piece]; row < batch->cu_seqlens[piece + 1]; row++) {
            first_key[row] = batch->cu_seqlens[piece];
            visible[row] = row - batch->cu_seqlens[piece] + 1;
        }
    struct reference reference = {
        .heads = layout->heads,
        .kv_heads = layout->kv_heads,
        .head_dim = layout->head_dim,
        .scale = layout->scale != 0.0F ? (double)layout->scale : 1 / sqrt(layout->head_dim),
        .rows = batch->tokens,
        .keys = batch->tokens,
        .first_key = first_key,
        .visible = visible,
    };
    compute(batch, &reference, &batch->expected);
    reference.store = layout->type == BALLAST_ATTENTION_BF16 ? store_bf16 : store_fp16;
    compute(batch, &reference, &batch->plain);
    free(first_key);
    free(visible);
}

void microbatch_init(struct microbatch *batch, const ballast_attention_layout *layout,
                     const uint32_t *lengths, uint32_t piece_count, unsigned seed)
{
    srand(seed);
    *batch = (struct microbatch){ .layout = *layout, .piece_count = piece_count };
    batch->cu_seqlens = calloc((size_t)piece_count + 1, sizeof *batch->cu_seqlens);
    cr_assert(batch->cu_seqlens);
    for (uint32_t piece = 0; piece < piece_count; piece++)
        batch->cu_seqlens[piece + 1] = batch->cu_seqlens[piece] + lengths[piece];
    batch->tokens = batch->cu_seqlens[piece_count];
    batch->q = random_tensor(microbatch_query_values(batch), layout->type);
    batch->out_gradient = random_tensor(microbatch_query_values(batch), layout->type);
    batch->k = random_tensor(microbatch_key_values(batch), layout->type);
    batch->v = random_tensor(microbatch_key_values(batch), layout->type);
    compute_both(batch);
}

void microbatch_fini(struct microbatch *batch)
{
    free(batch->cu_seqlens);
    free(batch->q);
    free(batch->out_gradient);
    free(batch->k);
    free(batch->v);
    results_fini(&batch->expected);
    results_fini(&batch->plain);
}

/* The greatest difference; NaN where there is one. */
static double error_of(const double *expected, const double *found, size_t count)
{
    double greatest = 0;
    for (size_t i = 0; i < count; i++) {
        double error = fabs(expected[i] - found[i]);
        if (!(error <= greatest))
            greatest = error;
    }
    return greatest;
}

static void check_tensor(const char *what, const char *tensor, const double *expected,
                         const double *plain, const double *found, size_t count)
{
    double error = error_of(expected, found, count), allowed = error_of(expected, plain, count);
    cr_expect(error <= 2 * allowed + 1e-5, "%s: %s is off by %g, a plain implementation by %g",
              what, tensor, error, allowed);
}

void microbatch_check(const struct microbatch *batch, const struct results *results,
                      const char *what)
{
    const struct results *expected = &batch->expected, *plain = &batch->plain;
    size_t queries = microbatch_query_values(batch), keys = microbatch_key_values(batch);
    size_t rows = (size_t)batch->layout.heads * batch->tokens;
    check_tensor(what, "out", expected->out, plain->out, results->out, queries);
    check_tensor(what, "lse", expected->lse, plain->lse, results->lse, rows);
    check_tensor(what, "q_gradient", expected->q_gradient, plain->q_gradient, results->q_gradient,
                 queries);
    check_tensor(what, "k_gradient", expected->k_gradient, plain->k_gradient, results->k_gradient,
                 keys);
    check_tensor(what, "v_gradient", expected->v_gradient, plain->v_gradient, results->v_gradient,
                 keys);
}
