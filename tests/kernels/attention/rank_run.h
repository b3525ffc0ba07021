/* One rank's share of a micro-batch, through the kernels. */
#ifndef BALLAST_TESTS_KERNELS_RANK_RUN_H
#define BALLAST_TESTS_KERNELS_RANK_RUN_H

#include <stdbool.h>

#include "microbatch.h"

/* How to run it; 0 everywhere is the plain way. */
struct rank_options {
    ballast_attention_path path;
    uint32_t blocks;        /* of the layout */
    uint32_t heads_at_once; /* KV heads of a call; 0: all */
    uint32_t spread;        /* elements between the rows of tensors, a multiple of 8 */
    bool float_results;     /* out and all gradients in F32 */
};

/* What came out, as it came out; rows of padding and what lies between rows included. */
struct rank_results {
    unsigned char *bytes;
    size_t count;
};

/*
 * Runs forward and backward for the plan's chunks of the micro-batch, on tensors poisoned wherever
 * nothing may be read, and puts the rank's rows into `results`; gradients of keys and values are
 * added there. Fails the test where padding is not as promised, something else is touched, or the
 * emulation reports a fault. ret_results may be NULL.
 */
void rank_run(const struct microbatch *batch, const ballast_attention_plan *plan,
              const struct rank_options *options, struct results *results,
              struct rank_results *ret_results);

void rank_results_fini(struct rank_results *results);

#endif
