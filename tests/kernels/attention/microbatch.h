/*
 * A micro-batch with tensors, its attention by the reference, and how far a plain implementation in
 * the same low precision is from it: what kernels are tested against.
 */
#ifndef BALLAST_TESTS_KERNELS_MICROBATCH_H
#define BALLAST_TESTS_KERNELS_MICROBATCH_H

#include <stddef.h>
#include <stdint.h>

#include <ballast/attention.h>

/* What attention gives, whole micro-batch: in double, however computed. */
struct results {
    double *out, *q_gradient;        /* [tokens, heads, head_dim] */
    double *k_gradient, *v_gradient; /* [tokens, kv_heads, head_dim] */
    double *lse;                     /* [heads, tokens] */
};

struct microbatch {
    ballast_attention_layout layout;
    uint32_t piece_count, tokens;
    uint32_t *cu_seqlens;
    double *q, *out_gradient; /* [tokens, heads, head_dim], all of them numbers of layout.type */
    double *k, *v;            /* [tokens, kv_heads, head_dim] */
    struct results expected;
    struct results plain; /* in low precision */
};

/* Fills the tensors at random by `seed` and computes both results. */
void microbatch_init(struct microbatch *batch, const ballast_attention_layout *layout,
                     const uint32_t *lengths, uint32_t piece_count, unsigned seed);
void microbatch_fini(struct microbatch *batch);

/* Numbers of a tensor of the whole micro-batch. */
size_t microbatch_query_values(const struct microbatch *batch);
size_t microbatch_key_values(const struct microbatch *batch);

/* Results full of NaN, to be filled. */
void results_init(struct results *results, const struct microbatch *batch);
void results_fini(struct results *results);

/*
 * Fails the test where a tensor's error is more than twice that of the plain implementation and a
 * little besides, or is no number.
 */
void microbatch_check(const struct microbatch *batch, const struct results *results,
                      const char *what);

/* Numbers of the two-byte types and back. */
double half_value(ballast_attention_type type, uint16_t bits);
uint16_t half_bits(ballast_attention_type type, double value);

#endif
