#include "kernels/attention/sm90/forward.cuh"

#include "kernels/attention/kernels.h"
#include "kernels/attention/launch.cuh"

namespace attention::sm90
{

template <class T, int D>
GPU_KERNEL((forward_shape<D>::threads), 1)
forward_kernel(const GPU_PARAMETER attention_arguments arguments,
               const GPU_PARAMETER forward_maps maps)
{
    forward<T, D>(arguments, maps);
}

struct forward_choice {
    template <class T, int D>
    static cudaError_t start(const attention_arguments &arguments, uint32_t blocks,
                             cudaStream_t stream)
    {
        using shape = forward_shape<D>;
        forward_maps maps;
        cudaError_t error = first_error({
            map_queries(arguments, arguments.q, arguments.q_stride, D, QUERY_TILE_ROWS, &maps.q),
            map_keys(arguments, arguments.k, arguments.k_stride, D, shape::keys, &maps.k),
            map_keys(arguments, arguments.v, arguments.v_stride, D, shape::keys, &maps.v),
        });
        if (error != cudaSuccess)
            return error;
        return start_blocks(forward_kernel<T, D>, shape::threads, shape::shared_bytes, arguments,
                            blocks, stream, maps);
    }
};

} // namespace attention::sm90

cudaError_t attention_forward_wgmma(ballast_attention_type type, uint32_t head_dim,
                                    const attention_arguments *arguments, uint32_t blocks,
                                    cudaStream_t stream)
{
    return attention::choose<attention::sm90::forward_choice>(type, head_dim, *arguments, blocks,
                                                              stream);
}
