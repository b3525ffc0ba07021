/*
 * Attention of packed pieces from its definition, on the host, in double precision: what the
 * kernels' results are compared with.
 *
 * With `store` it is a plain implementation in low precision instead: every tensor that such a one
 * would keep (scores, probabilities, their gradients, results) goes through that function, sums
 * do not. Its error is the measure of a kernel's.
 *
 * Tensors are dense: q, out and their gradients [rows, heads, head_dim], k, v and theirs
 * [keys, kv_heads, head_dim], lse [heads, rows]; see attention.h for what they mean.
 */
#ifndef BALLAST_REF_REFERENCE_H
#define BALLAST_REF_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include <ballast/attention.h>

#ifdef __cplusplus
extern "C" {
#endif

struct reference {
    uint32_t heads, kv_heads, head_dim;
    double scale;
    uint32_t rows, keys;
    const uint32_t *first_key, *visible; /* [rows] a row sees keys first_key, visible of them */
    double (*store)(double value);       /* NULL: kept as it is */
};

/*
 * Which keys each of the padded rows of a plan sees, counted from its definition: padding sees
 * none. Arrays of plan->padded_tokens (or the chunks' tokens, where that is 0). Returns the key
 * rows.
 */
uint32_t reference_visibility(const ballast_attention_plan *plan, uint32_t *ret_first_key,
                              uint32_t *ret_visible);

/* Fills out and lse. False when out of memory. */
bool reference_forward(const struct reference *reference, const double *q, const double *k,
                       const double *v, double *out, double *lse);

/*
 * Fills the gradients, from what forward gave. False when out of memory.
 */
bool reference_backward(const struct reference *reference, const double *q, const double *k,
                        const double *v, const double *out, const double *lse,
                        const double *out_gradient, double *q_gradient, double *k_gradient,
                        double *v_gradient);

#ifdef __cplusplus
}
#endif

#endif
