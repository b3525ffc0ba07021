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

GPU_DEVICE int warp_least(int value)
{
    for (int mask = 16; mask > 0; mask /= 2) {
        int other = gpu::shuffle_xor(value, mask);
        value = other < value ? other : value;
    }
    return value;
}

/* For a warp whose M x 16 packed rows begin at `first` of the tile's. */
template <int M> struct row_mask {
    int visible[M][2]; /* of the thread's rows; 0 beyond the tile's rows */
    int least, most;   /* of the warp's rows; those beyond the tile's do not count */

    GPU_DEVICE row_mask(const attention_arguments &arguments, const packed_rows &rows, int first)
    {
        int thread_least = sees_all, thread_most = 0;
        for (int m = 0; m < M; m++)
            for (int half = 0; half < 2; half++) {
                const int packed = first + block_row(m, 2 * half);
                visible[m][half] = 0;
                if (packed >= rows.count)
                    continue;
                const int keys =
                    static_cast<int>(gpu::global_load(&arguments.visible[rows.row(packed)]));
                visible[m][half] = keys;
                thread_least = keys < thread_least ? keys : thread_least;
                thread_most = keys > thread_most ? keys : thread_most;
            }
        least = warp_least(thread_least);
        most = -warp_least(-thread_most);
    }

    GPU_DEVICE bool hidden(int m, int i, int key) const
    {
        return key >= visible[m][i / 2];
    }
};

} // namespace attention

#endif
