/* How tensors are cut into boxes for tensor copies. */
#ifndef BALLAST_ATTENTION_SM90_TENSORS_CUH
#define BALLAST_ATTENTION_SM90_TENSORS_CUH

#include "kernels/attention/arguments.h"
#include "kernels/common/tensor_copy.h"
#include <initializer_list>

namespace attention::sm90
{

/* `heads_a_box` x `rows_a_box` vectors of 64 numbers of a tensor [rows, heads, D]. */
inline cudaError_t map_rows(const void *tensor, int D, int heads, int rows, int64_t stride,
                            int heads_a_box, int rows_a_box, gpu::tensor_map *ret_map)
{
    return gpu::make_tensor_map({ tensor, static_cast<uint32_t>(D), static_cast<uint32_t>(heads),
                                  static_cast<uint32_t>(rows), D, stride,
                                  static_cast<uint32_t>(heads_a_box),
                                  static_cast<uint32_t>(rows_a_box) },
                                ret_map);
}

/* Of query rows; boxes are whole tokens, as many packed rows as fit into a tile. Not padding. */
inline cudaError_t map_queries(const attention_arguments &a, const void *tensor, int64_t stride,
                               int D, int tile_rows, gpu::tensor_map *ret_map)
{
    return map_rows(tensor, D, a.heads, a.rows > 0 ? a.rows : 1, stride, a.group,
                    tile_rows / a.group, ret_map);
}

/* Of keys or values. Without any nothing is copied, but a map has to be of something. */
inline cudaError_t map_keys(const attention_arguments &a, const void *tensor, int64_t stride, int D,
                            int tile_keys, gpu::tensor_map *ret_map)
{
    return map_rows(a.key_rows > 0 ? tensor : a.q, D, a.kv_heads, a.key_rows > 0 ? a.key_rows : 1,
                    stride, 1, tile_keys, ret_map);
}

/* The tensors that backward copies from. */
struct backward_maps {
    gpu::tensor_map q, out_gradient, k, v;
};

/* The first error of a row of calls. */
inline cudaError_t first_error(std::initializer_list<cudaError_t> errors)
{
    for (cudaError_t error : errors)
        if (error != cudaSuccess)
            return error;
    return cudaSuccess;
}

/* Query rows in boxes for tiles of `tile_rows`, keys and values of `tile_keys`. */
inline cudaError_t make_backward_maps(const attention_arguments &a, int D, int tile_rows,
                                      int tile_keys, backward_maps *ret_maps)
{
    return first_error({
        map_queries(a, a.q, a.q_stride, D, tile_rows, &ret_maps->q),
        map_queries(a, a.out_gradient, a.out_gradient_stride, D, tile_rows,
                    &ret_maps->out_gradient),
        map_keys(a, a.k, a.k_stride, D, tile_keys, &ret_maps->k),
        map_keys(a, a.v, a.v_stride, D, tile_keys, &ret_maps->v),
    });
}

} // namespace attention::sm90

#endif
