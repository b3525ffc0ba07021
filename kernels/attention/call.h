/* A checked call, on its way to the kernels. */
#ifndef BALLAST_ATTENTION_CALL_H
#define BALLAST_ATTENTION_CALL_H

#include "kernels/attention/problem.h"

/* Heads and tiles of a call of a problem that is uploaded, in arguments that are else zero. */
ballast_attention_status call_begin(const ballast_attention_problem *problem,
                                    ballast_attention_heads kv_heads,
                                    struct attention_arguments *ret_arguments,
                                    ballast_attention_error *error);

/* A tensor of a call, as its caller gave it. */
struct call_tensor {
    const char *name; /* for errors */
    const void *pointer;
    int64_t stride; /* elements; 0: dense */
    ballast_attention_type type;
    bool of_keys; /* k and v and their gradients */
};

/*
 * Checks a tensor that is to have rows: pointer, stride and type. *ret_stride is filled in where it
 * was 0.
 */
ballast_attention_status call_check_tensor(const ballast_attention_problem *problem,
                                           const struct attention_arguments *arguments,
                                           const struct call_tensor *tensor, int64_t *ret_stride,
                                           ballast_attention_error *error);

#endif
