/*
 * The cost model: predicted latency of a piece as an exact integer, W(d) = Wa(d) + Wl(d)
 * (DESIGN section 8; PAPER.md, Workload). Integers, so that every comparison is the same on every
 * machine and compiler.
 */
#ifndef BALLAST_COST_COST_H
#define BALLAST_COST_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/wide.h"

/* One 1024th of the linear cost of a token (`crossover_tokens`), or a picosecond (`model`). */
typedef uint64_t workload;

/* A transformer and the rate at which its hardware runs it, to predict both terms. */
struct cost_shape {
    uint32_t layers, hidden, heads, kv_heads, ffn, vocab, tp;
    double tflops; /* achieved, per GPU */
};

/* Exactly one of the two: crossover_tokens > 0, or shape.layers > 0. */
struct cost_options {
    uint64_t crossover_tokens; /* B of W = d + d^2 / B */
    struct cost_shape model;
};

struct cost_model {
    uint64_t linear;         /* workload of one token */
    uint64_t quadratic;      /* workload of one squared token, times 2^COST_FRACTION_BITS */
    double crossover_tokens; /* B: length at which attention costs as much as the rest */
    const char *unit;        /* "token/1024" or "ps" */
};

#define COST_FRACTION_BITS 32

/* EX_CONFIG, naming the key, when options are missing, double or out of range. */
int cost_model_init(struct cost_model *model, const struct cost_options *options,
                    struct error *err);

/*
 * Does every micro-batch of pieces up to `window` tokens, `max_tokens` together, stay below 2^63?
 * Only then are the functions below exact.
 */
bool cost_fits(const struct cost_model *model, uint32_t window, uint32_t max_tokens);

/* Wa(d): attention over a piece of d tokens, causal. */
static inline workload cost_attention(const struct cost_model *model, uint32_t tokens)
{
    return (workload)((wide)model->quadratic * ((uint64_t)tokens * tokens) >> COST_FRACTION_BITS);
}

/* Wl(d): GEMMs, collectives, element-wise work. */
static inline workload cost_linear(const struct cost_model *model, uint64_t tokens)
{
    return model->linear * tokens;
}

/* W(d). */
static inline workload cost_piece(const struct cost_model *model, uint32_t tokens)
{
    return cost_attention(model, tokens) + cost_linear(model, tokens);
}

#endif
