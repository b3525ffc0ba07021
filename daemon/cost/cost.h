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
#include "cost/curve.h"
#include "cost/table.h"

/* One 1024th of the linear cost of a token (`crossover_tokens`), else a picosecond. */
typedef uint64_t workload;

/* A transformer and the rate at which its hardware runs it, to predict both terms. */
struct cost_shape {
    uint32_t layers, hidden, heads, kv_heads, ffn, vocab, tp;
    double tflops; /* achieved, per GPU; 0 with a device */
};

/* Exactly one of the three: crossover_tokens > 0, model.layers > 0, or measured. */
struct cost_options {
    uint64_t crossover_tokens; /* B of W = d + d^2 / B */
    struct cost_shape model;
    char *device;     /* of `model`: name of a built-in one (cost/device.h), or NULL */
    char *table;      /* path of a table, or NULL; whoever reads it fills `measured` */
    bool extrapolate; /* pieces may be longer than what `table` measured */
    struct cost_table measured;
};

/* Has no memory of its own: may be copied and forgotten. */
struct cost_model {
    uint64_t linear;           /* workload of one token */
    uint64_t quadratic;        /* workload of one squared token, times 2^COST_FRACTION_BITS */
    uint64_t attention_linear; /* what attention costs a token besides, scaled likewise */
    struct cost_table table;   /* when there is one, quadratic and attention_linear are 0 */
    uint32_t cp; /* 1: workloads are those of all CP ranks together; else of each of so many */
    double crossover_tokens; /* B: length at which attention costs as much as the rest; at most
                                2^40 */
    const char *unit;        /* "token/1024" or "ps" */
};

/* EX_CONFIG, naming the key, when options are missing, double or out of range. */
int cost_model_init(struct cost_model *model, const struct cost_options *options,
                    struct error *err);

/*
 * Does every micro-batch of pieces up to `window` tokens, `max_tokens` together, stay below 2^63?
 * Only then are the functions below exact.
 */
bool cost_fits(const struct cost_model *model, uint32_t window, uint32_t max_tokens);

/* Wa(d): attention over a piece of d tokens, causal; O(1), with a table O(log of its lengths). */
static inline wide cost_attention_wide(const struct cost_model *model, uint32_t tokens)
{
    if (model->table.attention.count)
        return cost_curve_at(&model->table.attention, tokens);
    wide square = (wide)model->quadratic * ((uint64_t)tokens * tokens);
    return (square + (wide)model->attention_linear * tokens) >> COST_FRACTION_BITS;
}

static inline workload cost_attention(const struct cost_model *model, uint32_t tokens)
{
    return (workload)cost_attention_wide(model, tokens);
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
