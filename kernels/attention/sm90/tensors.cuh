/* How tensors are cut into boxes for tensor copies. */
#ifndef BALLAST_ATTENTION_SM90_TENSORS_CUH
#define BALLAST_ATTENTION_SM90_TENSORS_CUH

#include "kernels/attention/arguments.h"
#include "kernels/common/tensor_copy.h"

namespace attention
{

/* The tensors [rows, heads, D] that forward copies boxes of. */
struct forward_maps {
    gpu::tensor_map q; /* boxes of a tile's packed rows */
    gpu::tensor_map k, v;
};

/* `heads_a_box` x `rows_a_box` vectors of 64 numbers. */
inline cudaError_t map_rows(const void *tensor, int D, int heads, int rows, int64_t stride,
                            int heads_a_box, int rows_a_box, gpu::tensor_map *ret_map)
{
    return gpu::make_tensor_map({ tensor, static_cast<uint32_t>(D), static_cast<uint32_t>(heads),
                                  static_cast<uint32_t>(rows), D, stride,
                                  static_cast<uint32_t>(heads_a_box),
                                  static_cast<uint32_t>(rows_a_box) },
                                ret_map);
}

inline cudaError_t make_forward_maps(const attention_arguments &a, int D, int keys_a_box,
                                     forward_maps *ret_maps)
{
    /* Without keys nothing is copied, but a map has to be of something. */
    const int key_rows = a.key_rows > 0 ? a.key_rows : 1;
    const void *k = a.key_rows > 0 ? a.k : a.q, *v = a.key_rows > 0 ? a.v : a.q;
    cudaError_t error = map_rows(a.q, D, a.heads, a.padded_rows, a.q_stride, a.group,
                                 QUERY_TILE_ROWS / a.group, &ret_maps->q);
    if (error == cudaSuccess)
        error = map_rows(k, D, a.kv_heads, key_rows, a.k_stride, 1, keys_a_box, &ret_maps->k);
    if (error == cudaSuccess)
        error = map_rows(v, D, a.kv_heads, key_rows, a.v_stride, 1, keys_a_box, &ret_maps->v);
    return error;
}

} // namespace attention

#endif
