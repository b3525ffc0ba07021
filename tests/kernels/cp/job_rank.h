/* One rank's tensors on its device, and what is in them. */
#ifndef BALLAST_TESTS_KERNELS_CP_JOB_RANK_H
#define BALLAST_TESTS_KERNELS_CP_JOB_RANK_H

#include <cuda_runtime.h>

#include "job.h"

struct rank_tensors {
    cudaStream_t stream;
    void *workspace;
    void *q, *k, *v, *out, *out_gradient, *q_gradient, *k_gradient, *v_gradient;
    float *lse;
};

/*
 * Puts the rank's rows of the job's tensors on the current device; results hold anything. False
 * when CUDA refused.
 */
bool rank_tensors_init(const struct job *job, uint32_t rank, size_t workspace_bytes,
                       struct rank_tensors *tensors);
void rank_tensors_fini(struct rank_tensors *tensors);

ballast_attention_forward_call rank_forward(const struct rank_tensors *tensors,
                                            const struct job *job);
ballast_attention_backward_call rank_backward(const struct rank_tensors *tensors,
                                              const struct job *job);

/* Takes results back into the order of the sequence; *ret_padding_is_zero: see attention_cp.h. */
void rank_results(const struct rank_tensors *tensors, const struct job *job, uint32_t rank,
                  struct job_results *results, bool *ret_padding_is_zero);

#endif
