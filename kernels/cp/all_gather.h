/*
 * Attention with all keys gathered, KV heads group by group. On the exchange stream the groups'
 * keys arrive one after another, and parts of gradients are reduced; on the caller's stream each
 * group is computed when its keys are there. What is exchanged has two buffers, which take turns:
 *
 *     exchange   gather 0 | gather 1        | gather 2        | reduce 0 | gather 3 ...
 *     caller                 order, compute 0 | order, compute 1 | ...
 */
#ifndef BALLAST_KERNELS_CP_ALL_GATHER_H
#define BALLAST_KERNELS_CP_ALL_GATHER_H

#include "kernels/cp/problem.h"

ballast_attention_status all_gather_forward(const struct run *run,
                                            const ballast_attention_forward_call *call);
ballast_attention_status all_gather_backward(const struct run *run,
                                             const ballast_attention_backward_call *call);

#endif
