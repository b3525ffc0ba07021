#include "kernels/attention/forward.cuh"
#include "kernels/attention/kernels.h"
#include "kernels/attention/launch.cuh"

namespace attention
{

template <class T, int D>
GPU_KERNEL((forward<T, D>::threads), 2)
forward_kernel(const GPU_PARAMETER attention_arguments arguments)
{
    item_source items(arguments.counter, forward<T, D>::items());
    forward<T, D> tile(arguments);
    while (items.next() < arguments.items)
        tile.compute();
}

struct forward_choice {
    template <class T, int D>
    static cudaError_t start(const attention_arguments &arguments, uint32_t blocks,
                             cudaStream_t stream)
    {
        return start_blocks(forward_kernel<T, D>, forward<T, D>::threads,
                            forward<T, D>::shared_bytes, arguments, blocks, stream);
    }
};

} // namespace attention

cudaError_t attention_forward_mma(ballast_attention_type type, uint32_t head_dim,
                                  const attention_arguments *arguments, uint32_t blocks,
                                  cudaStream_t stream)
{
    return attention::choose<attention::forward_choice>(type, head_dim, *arguments, blocks, stream);
}
