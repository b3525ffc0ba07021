#include "kernels/attention/backward_keys.cuh"
#include "kernels/attention/kernels.h"
#include "kernels/attention/launch.cuh"

namespace attention
{

template <class T, int D>
GPU_KERNEL((backward_keys<T, D>::threads), 1)
backward_keys_kernel(const GPU_PARAMETER attention_arguments arguments)
{
    item_source items(arguments.counter, backward_keys<T, D>::items());
    backward_keys<T, D> tile(arguments);
    for (int item = items.next(); item < arguments.items; item = items.next())
        tile.compute(item);
}

struct backward_keys_choice {
    template <class T, int D>
    static cudaError_t start(const attention_arguments &arguments, uint32_t blocks,
                             cudaStream_t stream)
    {
        return start_blocks(backward_keys_kernel<T, D>, backward_keys<T, D>::threads,
                            backward_keys<T, D>::shared_bytes, arguments, blocks, stream);
    }
};

} // namespace attention

cudaError_t attention_backward_keys_mma(ballast_attention_type type, uint32_t head_dim,
                                        const attention_arguments *arguments, uint32_t blocks,
                                        cudaStream_t stream)
{
    return attention::choose<attention::backward_keys_choice>(type, head_dim, *arguments, blocks,
                                                              stream);
}
