/*
 * Attention with keys that go round a ring: at step s, a rank computes its queries with the keys of
 * the rank s before it. Forward merges the steps' results; backward adds up the gradients of the
 * queries, while those of the keys follow the keys round and come home with the last step.
 */
#ifndef BALLAST_KERNELS_CP_RING_H
#define BALLAST_KERNELS_CP_RING_H

#include "kernels/cp/problem.h"

ballast_attention_status ring_forward(const struct run *run,
                                      const ballast_attention_forward_call *call);
ballast_attention_status ring_backward(const struct run *run,
                                       const ballast_attention_backward_call *call);

#endif
