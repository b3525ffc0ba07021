#include "kernels/ref/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One query head at one row: where its vectors are, and the keys it sees. */
struct query {
    size_t row;      /* of q and out: their vector begins at row x head_dim */
    size_t key;      /* of k and v, of the first key that it sees */
    size_t key_step; /* to the next key, in vectors */
    size_t lse;      /* index of lse */
    uint32_t visible;
};

static struct query query_at(const struct reference *r, uint32_t row, uint32_t head)
{
    uint32_t kv_head = head / (r->heads / r->kv_heads);
    return (struct query){ .row = (size_t)row * r->heads + head,
                           .key = (size_t)r->first_key[row] * r->kv_heads + kv_head,
                           .key_step = r->kv_heads,
                           .lse = (size_t)head * r->rows + row,
                           .visible = r->visible[row] };
}

static double stored(const struct reference *r, double value)
{
    return r->store ? r->store(value) : value;
}

static void store_all(const struct reference *r, double *values, size_t count)
{
    for (size_t i = 0; i < count && r->store; i++)
        values[i] = r->store(values[i]);
}

static double dot(const double *a, const double *b, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

static void add_scaled(double *to, double factor, const double *from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        to[i] += factor * from[i];
}

static double *vector(double *tensor, const struct reference *r, size_t index)
{
    return tensor + index * r->head_dim;
}

static const double *vector_of(const double *tensor, const struct reference *r, size_t index)
{
    return tensor + index * r->head_dim;
}

static void find_scores(const struct reference *r, const struct query *query, const double *q,
                        const double *k, double *scores)
{
    for (uint32_t j = 0; j < query->visible; j++)
        scores[j] = stored(r, r->scale * dot(vector_of(q, r, query->row),
                                             vector_of(k, r, query->key + j * query->key_step),
                                             r->head_dim));
}

static double log_sum_exp(const double *scores, uint32_t count)
{
    double most = -INFINITY, sum = 0;
    for (uint32_t j = 0; j < count; j++)
        most = fmax(most, scores[j]);
    for (uint32_t j = 0; j < count; j++)
        sum += exp(scores[j] - most);
    return count ? most + log(sum) : -INFINITY;
}

static void attend(const struct reference *r, const struct query *query, const double *q,
                   const double *k, const double *v, double *scores, double *out, double *lse)
{
    find_scores(r, query, q, k, scores);
    *lse = log_sum_exp(scores, query->visible);
    for (uint32_t j = 0; j < query->visible; j++)
        add_scaled(out, stored(r, exp(scores[j] - *lse)),
                   vector_of(v, r, query->key + j * query->key_step), r->head_dim);
}

static uint32_t most_visible(const struct reference *r)
{
    uint32_t most = 1;
    for (uint32_t row = 0; row < r->rows; row++)
        most = r->visible[row] > most ? r->visible[row] : most;
    return most;
}

bool reference_forward(const struct reference *r, const double *q, const double *k, const double *v,
                       double *out, double *lse)
{
    double *scores = malloc(most_visible(r) * sizeof *scores);
    if (!scores)
        return false;
    size_t values = (size_t)r->rows * r->heads * r->head_dim;
    memset(out, 0, values * sizeof *out);
    for (uint32_t row = 0; row < r->rows; row++)
        for (uint32_t head = 0; head < r->heads; head++) {
            struct query query = query_at(r, row, head);
            attend(r, &query, q, k, v, scores, vector(out, r, query.row), &lse[query.lse]);
        }
    store_all(r, out, values);
    free(scores);
    return true;
}

/* Tensors of the backward pass; q, k, v are what forward had. */
struct tensors {
    const double *q, *k, *v, *out_gradient;
    double *q_gradient, *k_gradient, *v_gradient;
};

static void attend_backward(const struct reference *r, const struct query *query, double lse,
                            double delta, const struct tensors *t, double *scores)
{
    const double *q = vector_of(t->q, r, query->row);
    const double *out_gradient = vector_of(t->out_gradient, r, query->row);
    double *q_gradient = vector(t->q_gradient, r, query->row);
    find_scores(r, query, t->q, t->k, scores);
    for (uint32_t j = 0; j < query->visible; j++) {
        size_t key = query->key + j * query->key_step;
        double probability = stored(r, exp(scores[j] - lse));
        double reward = stored(r, dot(out_gradient, vector_of(t->v, r, key), r->head_dim));
        double score_gradient = stored(r, probability * (reward - delta));
        add_scaled(vector(t->v_gradient, r, key), probability, out_gradient, r->head_dim);
        add_scaled(vector(t->k_gradient, r, key), r->scale * score_gradient, q, r->head_dim);
        add_scaled(q_gradient, r->scale * score_gradient, vector_of(t->k, r, key), r->head_dim);
    }
}

bool reference_backward(const struct reference *r, const double *q, const double *k,
                        const double *v, const double *out, const double *lse,
                        const double *out_gradient, double *q_gradient, double *k_gradient,
                        double *v_gradient)
{
    double *scores = malloc(most_visible(r) * sizeof *scores);
    if (!scores)
        return false;
    struct tensors tensors = { q, k, v, out_gradient, q_gradient, k_gradient, v_gradient };
    size_t query_values = (size_t)r->rows * r->heads * r->head_dim;
    size_t key_values = (size_t)r->keys * r->kv_heads * r->head_dim;
    memset(q_gradient, 0, query_values * sizeof *q_gradient);
    memset(k_gradient, 0, key_values * sizeof *k_gradient);
    memset(v_gradient, 0, key_values * sizeof *v_gradient);
    for (uint32_t row = 0; row < r->rows; row++)
        for (uint32_t head = 0; head < r->heads; head++) {
            struct query query = query_at(r, row, head);
            double delta = dot(vector_of(out, r, query.row), vector_of(out_gradient, r, query.row),
                               r->head_dim);
            attend_backward(r, &query, lse[query.lse], delta, &tensors, scores);
        }
    store_all(r, q_gradient, query_values);
    store_all(r, k_gradient, key_values);
    store_all(r, v_gradient, key_values);
    free(scores);
    return true;
}
