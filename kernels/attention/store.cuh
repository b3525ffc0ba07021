/* Results from registers to global memory, in the type that the caller wants. */
#ifndef BALLAST_ATTENTION_STORE_CUH
#define BALLAST_ATTENTION_STORE_CUH

#include "kernels/attention/product.cuh"
#include "kernels/common/memory.h"

namespace attention
{

struct alignas(8) float_pair {
    float low, high;
};

/* Two neighbouring numbers at `index` of a tensor of T, or of float. */
template <class T>
GPU_DEVICE void store_pair(void *tensor, int64_t index, bool as_float, float low, float high)
{
    if (as_float)
        gpu::global_store(reinterpret_cast<float_pair *>(static_cast<float *>(tensor) + index),
                          float_pair{ low, high });
    else
        gpu::global_store(reinterpret_cast<uint32_t *>(static_cast<T *>(tensor) + index),
                          gpu::pack2<T>(low, high));
}

/* A row of a block, times `factor`, to the vector that begins at `index`. */
template <class T, int N>
GPU_DEVICE void store_row(const float (&parts)[N][4], int half, float factor, void *tensor,
                          int64_t index, bool as_float)
{
    GPU_UNROLL
    for (int n = 0; n < N; n++)
        store_pair<T>(tensor, index + block_column(n, 0), as_float, parts[n][2 * half] * factor,
                      parts[n][2 * half + 1] * factor);
}

} // namespace attention

#endif
