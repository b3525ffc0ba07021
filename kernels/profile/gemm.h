/*
 * The matrix products of a transformer, which with its collectives are the linear part of the cost
 * model: the same ones that daemon/cost counts for `cost.model`. Pure.
 */
#ifndef BALLAST_PROFILE_GEMM_H
#define BALLAST_PROFILE_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Layers of 0: no model is given. Each of the others is at least 1 then. */
struct profile_model {
    uint32_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab;
};

/* [tokens, depth] x [depth, width], `count` times in one forward pass of one of tp ranks. */
struct profile_gemm {
    const char *name;
    uint32_t width, depth, count;
};

#define PROFILE_GEMMS 5

/* Queries, keys and values in one; output projection; gated MLP up (two in one) and down; logits.
 */
void profile_gemms(const struct profile_model *model, uint32_t tp,
                   struct profile_gemm ret_gemms[PROFILE_GEMMS]);

/* A product as it is run: [rows, depth] x [depth, columns]. */
struct profile_product {
    uint64_t rows, columns, depth;
};

/* Forward, then the gradients of the input and of the weights. */
#define PROFILE_PASSES 3

void profile_products(const struct profile_gemm *gemm, uint64_t tokens,
                      struct profile_product ret_products[PROFILE_PASSES]);

double profile_product_flops(const struct profile_product *product);

/* Of `tokens` tokens through all GEMMs; forward alone, or with both gradients. */
double profile_linear_flops(const struct profile_model *model, uint32_t tp, uint64_t tokens,
                            bool training);

#endif
