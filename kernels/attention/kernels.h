/*
 * The kernels, as the host starts them: `blocks` persistent blocks, 0 meaning as many as the device
 * holds, but not more than there are items. Each enqueues on the stream and returns.
 */
#ifndef BALLAST_ATTENTION_KERNELS_H
#define BALLAST_ATTENTION_KERNELS_H

#include <ballast/attention.h>
#include <cuda_runtime.h>

#include "kernels/attention/arguments.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Out and lse of query tiles. */
cudaError_t attention_forward_mma(ballast_attention_type type, uint32_t head_dim,
                                  const struct attention_arguments *arguments, uint32_t blocks,
                                  cudaStream_t stream);

/* The same by wgmma and tensor copies. */
cudaError_t attention_forward_wgmma(ballast_attention_type type, uint32_t head_dim,
                                    const struct attention_arguments *arguments, uint32_t blocks,
                                    cudaStream_t stream);

/* Facts of the rows of the call's heads, for backward. Items: rows x heads. */
cudaError_t attention_find_row_facts(ballast_attention_type type, uint32_t head_dim,
                                     const struct attention_arguments *arguments, uint32_t blocks,
                                     cudaStream_t stream);

/* Gradients of keys and values of key tiles; needs the facts. */
cudaError_t attention_backward_keys_mma(ballast_attention_type type, uint32_t head_dim,
                                        const struct attention_arguments *arguments,
                                        uint32_t blocks, cudaStream_t stream);

/* Gradient of queries of query tiles; needs the facts. */
cudaError_t attention_backward_queries_mma(ballast_attention_type type, uint32_t head_dim,
                                           const struct attention_arguments *arguments,
                                           uint32_t blocks, cudaStream_t stream);

/* Both by wgmma and tensor copies. */
cudaError_t attention_backward_keys_wgmma(ballast_attention_type type, uint32_t head_dim,
                                          const struct attention_arguments *arguments,
                                          uint32_t blocks, cudaStream_t stream);
cudaError_t attention_backward_queries_wgmma(ballast_attention_type type, uint32_t head_dim,
                                             const struct attention_arguments *arguments,
                                             uint32_t blocks, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
