#include "kernels/attention/sm90/backward_keys.cuh"

#include "kernels/attention/kernels.h"
#include "kernels/attention/launch.cuh"

namespace attention::sm90
{

template <class T, int D>
GPU_KERNEL((backward_keys_shape<D>::threads), 1)
backward_keys_kernel(const GPU_PARAMETER attention_arguments arguments,
                     const GPU_PARAMETER backward_maps maps)
{
    backward_keys<T, D>(arguments, maps);
}

struct backward_keys_choice {
    template <class T, int D>
    static cudaError_t start(const attention_arguments &a, uint32_t blocks, cudaStream_t stream)
    {
        using shape = backward_keys_shape<D>;
        backward_maps maps;
        cudaError_t error = make_backward_maps(a, D, KEY_TILE_ROWS, KEY_TILE_KEYS, &maps);
        if (error != cudaSuccess)
            return error;
        return start_blocks(backward_keys_kernel<T, D>, shape::threads, shape::shared_bytes, a,
                            blocks, stream, maps);
    }
};

} // namespace attention::sm90

cudaError_t attention_backward_keys_wgmma(ballast_attention_type type, uint32_t head_dim,
                                          const attention_arguments *arguments, uint32_t blocks,
                                          cudaStream_t stream)
{
    return attention::choose<attention::sm90::backward_keys_choice>(type, head_dim, *arguments,
                                                                    blocks, stream);
}
