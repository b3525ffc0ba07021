/* The reference against what can be said without it: closed forms, and slopes of its forward. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/ref/reference.h"

enum { HEADS = 4, KV_HEADS = 2, DIM = 3, ROWS = 5, KEYS = 6 };
enum { QUERY_VALUES = ROWS * HEADS * DIM, KEY_VALUES = KEYS * KV_HEADS * DIM };

/* Two pieces of 4 and 2 keys; of the first piece rows 1 to 3, of the second row 0, and padding. */
static const uint32_t first_key[ROWS] = { 0, 0, 0, 4, 0 }, visible[ROWS] = { 2, 3, 4, 1, 0 };

static const struct reference small = { .heads = HEADS,
                                        .kv_heads = KV_HEADS,
                                        .head_dim = DIM,
                                        .scale = 0.7,
                                        .rows = ROWS,
                                        .keys = KEYS,
                                        .first_key = first_key,
                                        .visible = visible };

static void fill(double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = rand() / (double)RAND_MAX * 2 - 1;
}

struct tensors {
    double q[QUERY_VALUES], k[KEY_VALUES], v[KEY_VALUES], out_gradient[QUERY_VALUES];
};

static struct tensors random_tensors(void)
{
    struct tensors tensors;
    srand(11);
    fill(tensors.q, QUERY_VALUES);
    fill(tensors.k, KEY_VALUES);
    fill(tensors.v, KEY_VALUES);
    fill(tensors.out_gradient, QUERY_VALUES);
    return tensors;
}

Test(reference, a_row_that_sees_one_key_has_its_value)
{
    struct tensors t = random_tensors();
    double out[QUERY_VALUES], lse[HEADS * ROWS];
    cr_assert(reference_forward(&small, t.q, t.k, t.v, out, lse));
    for (int head = 0; head < HEADS; head++) {
        const double *key = &t.k[(4 * KV_HEADS + head / 2) * DIM];
        const double *query = &t.q[(3 * HEADS + head) * DIM];
        double score = 0;
        for (int i = 0; i < DIM; i++) {
            score += 0.7 * query[i] * key[i];
            cr_expect_float_eq(out[(3 * HEADS + head) * DIM + i],
                               t.v[(4 * KV_HEADS + head / 2) * DIM + i], 1e-12);
            cr_expect_eq(out[(4 * HEADS + head) * DIM + i], 0.0);
        }
        cr_expect_float_eq(lse[head * ROWS + 3], score, 1e-12);
        cr_expect_eq(lse[head * ROWS + 4], -INFINITY);
    }
}

Test(reference, equal_keys_give_the_mean_of_values)
{
    struct tensors t = random_tensors();
    double out[QUERY_VALUES], lse[HEADS * ROWS];
    for (int i = 0; i < KEY_VALUES; i++)
        t.k[i] = 0;
    cr_assert(reference_forward(&small, t.q, t.k, t.v, out, lse));
    for (int i = 0; i < DIM; i++) {
        double mean = (t.v[i] + t.v[KV_HEADS * DIM + i] + t.v[2 * KV_HEADS * DIM + i]) / 3;
        cr_expect_float_eq(out[1 * HEADS * DIM + i], mean, 1e-12);
    }
    cr_expect_float_eq(lse[1], log(3), 1e-12);
}

static double loss(const struct tensors *t)
{
    double out[QUERY_VALUES], lse[HEADS * ROWS], sum = 0;
    cr_assert(reference_forward(&small, t->q, t->k, t->v, out, lse));
    for (int i = 0; i < QUERY_VALUES; i++)
        sum += out[i] * t->out_gradient[i];
    return sum;
}

static void check_slopes(struct tensors *t, double *input, const double *gradient, int count)
{
    const double step = 1e-5;
    for (int i = 0; i < count; i++) {
        double kept = input[i];
        input[i] = kept + step;
        double above = loss(t);
        input[i] = kept - step;
        double below = loss(t);
        input[i] = kept;
        cr_expect_float_eq(gradient[i], (above - below) / (2 * step), 1e-8, "number %d", i);
    }
}

Test(reference, gradients_are_the_slopes_of_forward)
{
    struct tensors t = random_tensors();
    double out[QUERY_VALUES], lse[HEADS * ROWS];
    double q_gradient[QUERY_VALUES], k_gradient[KEY_VALUES], v_gradient[KEY_VALUES];
    cr_assert(reference_forward(&small, t.q, t.k, t.v, out, lse));
    cr_assert(reference_backward(&small, t.q, t.k, t.v, out, lse, t.out_gradient, q_gradient,
                                 k_gradient, v_gradient));
    check_slopes(&t, t.q, q_gradient, QUERY_VALUES);
    check_slopes(&t, t.k, k_gradient, KEY_VALUES);
    check_slopes(&t, t.v, v_gradient, KEY_VALUES);
}

static double to_quarters(double value)
{
    return round(value * 4) / 4;
}

Test(reference, keeps_tensors_as_it_is_told)
{
    struct tensors t = random_tensors();
    double out[QUERY_VALUES], lse[HEADS * ROWS];
    struct reference coarse = small;
    coarse.store = to_quarters;
    cr_assert(reference_forward(&coarse, t.q, t.k, t.v, out, lse));
    for (int i = 0; i < QUERY_VALUES; i++)
        cr_expect_eq(out[i], to_quarters(out[i]));
}

Test(reference, counts_what_rows_of_a_plan_see)
{
    static const uint32_t cu_seqlens[] = { 0, 10, 13 };
    static const ballast_attention_chunk chunks[] = { { 0, 2, 2 }, { 0, 8, 1 }, { 1, 0, 1 } };
    static const ballast_attention_chunk keys[] = { { 0, 1, 2 }, { 0, 8, 2 }, { 1, 2, 1 } };
    ballast_attention_plan plan = BALLAST_ATTENTION_PLAN_INIT;
    plan.piece_count = 2;
    plan.cu_seqlens = cu_seqlens;
    plan.chunks = chunks;
    plan.chunk_count = 3;
    plan.padded_tokens = 5;
    uint32_t first[5], seen[5];
    cr_expect_eq(reference_visibility(&plan, first, seen), 13);
    cr_expect_arr_eq(first, ((uint32_t[]){ 0, 0, 0, 10, 0 }), sizeof first);
    cr_expect_arr_eq(seen, ((uint32_t[]){ 3, 4, 9, 1, 0 }), sizeof seen);

    plan.key_chunks = keys;
    plan.key_chunk_count = 3;
    cr_expect_eq(reference_visibility(&plan, first, seen), 5);
    cr_expect_arr_eq(first, ((uint32_t[]){ 0, 0, 0, 4, 0 }), sizeof first);
    cr_expect_arr_eq(seen, ((uint32_t[]){ 2, 2, 3, 0, 0 }), sizeof seen);
}
