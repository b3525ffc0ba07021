/* Which kernels a problem runs on. */
#ifndef BALLAST_ATTENTION_PATH_H
#define BALLAST_ATTENTION_PATH_H

#include "kernels/attention/kernels.h"
#include "kernels/attention/problem.h"

typedef cudaError_t attention_kernel(ballast_attention_type type, uint32_t head_dim,
                                     const struct attention_arguments *arguments, uint32_t blocks,
                                     cudaStream_t stream);

struct attention_path {
    attention_kernel *forward, *backward_keys, *backward_queries;
};

/* By the layout's wish and the current device; UNSUPPORTED where that has not the instructions. */
ballast_attention_status attention_path_choose(const ballast_attention_layout *layout,
                                               const struct attention_path **ret_path,
                                               ballast_attention_error *error);

/*
 * Starts a kernel on so many tiles of each KV head of the call, its counter at 0; nothing where
 * there are none. DEVICE when CUDA refuses.
 */
ballast_attention_status attention_launch(const ballast_attention_problem *problem,
                                          attention_kernel *kernel, enum attention_counter counter,
                                          uint32_t tiles, struct attention_arguments *arguments,
                                          cudaStream_t stream, ballast_attention_error *error);

/* Starts the kernel that finds the facts of rows. */
ballast_attention_status attention_launch_row_facts(const ballast_attention_problem *problem,
                                                    struct attention_arguments *arguments,
                                                    cudaStream_t stream,
                                                    ballast_attention_error *error);

#endif
