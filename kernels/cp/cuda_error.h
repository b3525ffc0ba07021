/* CUDA's errors as ours. */
#ifndef BALLAST_KERNELS_CP_CUDA_ERROR_H
#define BALLAST_KERNELS_CP_CUDA_ERROR_H

#include <cuda_runtime.h>

#include "kernels/attention/error.h"

/* OK where CUDA succeeded, else DEVICE and "what: CUDA: why". */
static inline ballast_attention_status cuda_error(ballast_attention_error *error,
                                                  cudaError_t result, const char *what)
{
    if (result == cudaSuccess)
        return BALLAST_ATTENTION_OK;
    return attention_error(error, BALLAST_ATTENTION_DEVICE, "%s: CUDA: %s", what,
                           cudaGetErrorString(result));
}

#endif
