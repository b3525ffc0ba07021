/* Attention of one micro-batch on one device: of a CP rank's share, or of all of it. */
#ifndef BALLAST_EXAMPLE_ATTENTION_H
#define BALLAST_EXAMPLE_ATTENTION_H

#include <ballast/attention_cp.h>
#include <ballast/ballast.h>

#include "kernels/example/layer.h"

/* Device memory of a micro-batch, and how it is computed. */
struct attention {
    ballast_attention_cp *cp; /* the caller's; NULL: without ranks */
    ballast_attention_cp_problem *share;
    ballast_attention_problem *whole;
    ballast_attention_stream stream;
    void *workspace;
    void *q, *k, *v, *out, *q_gradient, *k_gradient, *v_gradient, *out_gradient;
    float *lse;
    ballast_attention_error error;
};

/*
 * Prepares for the rank's share of a batch, or with cp NULL for all of it, on the current device.
 * All return whether it went well; else `error` says what did not. attention_fini is right either
 * way.
 */
bool attention_init(struct attention *attention, ballast_attention_cp *cp,
                    const ballast_view *view);
void attention_fini(struct attention *attention);

/* rows->out from q, k and v; then the gradients of these from out_gradient. Both wait. */
bool attention_forward(struct attention *attention, struct rows *rows);
bool attention_backward(struct attention *attention, struct rows *rows);

#endif
