/* Where vectors are in global memory, as shared_tile::copy asks for them, row by row. */
#ifndef BALLAST_ATTENTION_VECTORS_CUH
#define BALLAST_ATTENTION_VECTORS_CUH

#include "kernels/attention/packed_rows.cuh"

namespace attention
{

/* Packed rows from `first` on of a tensor of query rows. */
template <class T, int D> struct query_vectors {
    const packed_rows &rows;
    const T *tensor;
    int64_t stride;
    int first;

    GPU_DEVICE const T *operator()(int row) const
    {
        const int packed = first + row;
        return packed < rows.count ? tensor + rows.vector<D>(packed, stride) : nullptr;
    }
};

template <class T, int D>
GPU_DEVICE query_vectors<T, D> queries(const packed_rows &rows, const void *tensor, int64_t stride,
                                       int first)
{
    return { rows, static_cast<const T *>(tensor), stride, first };
}

/* `count` rows of a tensor of keys; beyond them are zeros, though others' keys may follow. */
template <class T> struct key_vectors {
    const T *first;
    int64_t stride;
    int count;

    GPU_DEVICE const T *operator()(int row) const
    {
        return row < count ? first + row * stride : nullptr;
    }
};

/* From key row `key` on. */
template <class T, int D>
GPU_DEVICE key_vectors<T> keys(const void *tensor, int64_t stride, int64_t key, int count,
                               int kv_head)
{
    return { static_cast<const T *>(tensor) + key * stride + kv_head * D, stride, count };
}

} // namespace attention

#endif
