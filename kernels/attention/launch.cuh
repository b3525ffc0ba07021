/* From the types and sizes of a call to a kernel made for them, and to its blocks. */
#ifndef BALLAST_ATTENTION_LAUNCH_CUH
#define BALLAST_ATTENTION_LAUNCH_CUH

#include <ballast/attention.h>

#include "kernels/attention/arguments.h"
#include "kernels/common/launch.h"
#include "kernels/common/number.h"

namespace attention
{

/* `more` are what a kernel takes beside the arguments. */
template <class... More>
cudaError_t start_blocks(void (*kernel)(attention_arguments, More...), int threads,
                         int shared_bytes, const attention_arguments &arguments, uint32_t blocks,
                         cudaStream_t stream, const More &...more)
{
    const auto bytes = static_cast<size_t>(shared_bytes);
    int grid = static_cast<int>(blocks);
    cudaError_t error = cudaSuccess;
    if (grid == 0)
        error = gpu::blocks_per_device(kernel, threads, bytes, &grid);
    if (error != cudaSuccess)
        return error;
    if (grid > arguments.items)
        grid = arguments.items;
    return gpu::launch(kernel, gpu::launch_shape{ grid, threads, bytes, stream }, arguments,
                       more...);
}

/* Choice::start<T, D> for the type and head dimension; no other is asked for. */
template <class Choice>
cudaError_t choose(ballast_attention_type type, uint32_t head_dim,
                   const attention_arguments &arguments, uint32_t blocks, cudaStream_t stream)
{
    if (type == BALLAST_ATTENTION_BF16)
        return head_dim == 64 ? Choice::template start<gpu::bf16, 64>(arguments, blocks, stream)
                              : Choice::template start<gpu::bf16, 128>(arguments, blocks, stream);
    return head_dim == 64 ? Choice::template start<gpu::fp16, 64>(arguments, blocks, stream)
                          : Choice::template start<gpu::fp16, 128>(arguments, blocks, stream);
}

} // namespace attention

#endif
