/*
 * Devices whose latencies we fitted ourselves, so that a job has figures before anyone measures.
 * Forward passes, bf16; cost.c counts the backward passes.
 */
#ifndef BALLAST_COST_DEVICE_H
#define BALLAST_COST_DEVICE_H

#include <stddef.h>
#include <stdint.h>

struct cost_device {
    const char *name;
    uint32_t max_tp;         /* largest tp that was measured */
    double flop;             /* ps of a floating-point operation of a GEMM */
    double reduced_value;    /* ps of an activation in an all-reduce, times (tp - 1) / tp */
    double attention_token;  /* ps of a token and a unit of width (query heads x head dim / tp) */
    double attention_square; /* ps of a squared token and a unit of width; causal, half a square */
};

/* NULL when there is none of that name. */
const struct cost_device *cost_device_find(const char *name);

/* All of them; the last has no name. */
extern const struct cost_device cost_devices[];

#endif
