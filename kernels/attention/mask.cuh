/*
 * The mask: a row sees the first `visible` keys of its piece. Rows of a thread in a block of
 * query rows, and what a warp's rows have in common.
 */
#ifndef BALLAST_ATTENTION_MASK_CUH
#define BALLAST_ATTENTION_MASK_CUH

#include "kernels/attention/packed_rows.cuh"
#include "kernels/attention/product.cuh"
#include "kernels/common/warp.h"

namespace attention
{

constexpr int sees_all = 0x7fffffff;

GPU_DEVICE int warp_greatest(int value)
{
    for (int mask = 16; mask > 0; mask /= 2) {
        const int other = gpu::shuffle_xor(value, mask);
        value = other > value ? other : value;
    }
    return value;
}

/* For a warp whose M x 16 packed rows begin at `first` of the tile's. */
template <int M> struct row_mask {
    int visible[M][2]; /* of the thread's rows; beyond the tile's, where rows are zeros, sees_all */
    int most;          /* of the warp's rows within the tile */

    GPU_DEVICE row_mask(const attention_arguments &arguments, const packed_rows &rows, int first)
    {
        int thread_most = 0;
        for (int i = 0; i < 2 * M; i++) {
            const int packed = first + block_row(i / 2, i % 2 * 2);
            visible[i / 2][i % 2] = sees_all;
            if (packed >= rows.count)
                continue;
            const int keys =
                static_cast<int>(gpu::global_load(&arguments.visible[rows.row(packed)]));
            visible[i / 2][i % 2] = keys;
            thread_most = keys > thread_most ? keys : thread_most;
        }
        most = warp_greatest(thread_most);
    }

    /* Whether all of the thread's rows see the first `keys` keys. */
    GPU_DEVICE bool all_see(int keys) const
    {
        bool see = true;
        for (int i = 0; i < 2 * M; i++)
            see = see && visible[i / 2][i % 2] >= keys;
        return see;
    }

    /* Whether key `key` is hidden from the row of element i of a block's part m. */
    GPU_DEVICE bool hidden(int m, int i, int key) const
    {
        return key >= visible[m][i / 2];
    }
};

} // namespace attention

#endif
