/* Products of a warpgroup with tiles of boxes; see product.cuh for those of a warp. */
#ifndef BALLAST_ATTENTION_SM90_MULTIPLY_CUH
#define BALLAST_ATTENTION_SM90_MULTIPLY_CUH

#include "kernels/attention/packed_rows.cuh"
#include "kernels/attention/product.cuh"
#include "kernels/attention/sm90/box_tile.cuh"

namespace attention::sm90
{

constexpr int group_rows = 64; /* of a warpgroup's products */

/* Which of the consuming warpgroups, that of the producer before them not counted. */
GPU_DEVICE int consumer_index()
{
    return gpu::thread_index() / gpu::warpgroup_threads - 1;
}

/* First row of the warpgroup in a tile, and of the warp. */
GPU_DEVICE int group_row()
{
    return consumer_index() * group_rows;
}

GPU_DEVICE int warp_row()
{
    return group_row() + gpu::warp_index() % 4 * 16;
}

/* Keys that the warpgroup's last row sees, 0 without rows: the same for all its threads. */
GPU_DEVICE int keys_seen(const attention_arguments &arguments, const packed_rows &rows)
{
    const int end = rows.count < group_row() + group_rows ? rows.count : group_row() + group_rows;
    if (end <= group_row())
        return 0;
    return static_cast<int>(gpu::global_load(&arguments.visible[rows.row(end - 1)]));
}

template <int N> GPU_DEVICE float (&registers_of(block<1, N> &b))[N * 4]
{
    return reinterpret_cast<float(&)[N * 4]>(b.part);
}

/* A block rounded to T, as the A of products. */
template <int N> struct fragments {
    uint32_t a[N / 2][4];

    template <class T> GPU_DEVICE void round(const block<1, N> &from)
    {
        GPU_UNROLL
        for (int k = 0; k < N / 2; k++)
            round_to_a<T>(a[k], from, 0, k);
    }
};

/* Starts a group: sum = left right^T over D, of the warpgroup's rows of `left`. */
template <class T, int D, int LeftRows, int RightRows>
GPU_DEVICE void start_product_transposed(block<1, RightRows / 8> &sum,
                                         const box_tile<LeftRows, D> &left,
                                         const box_tile<RightRows, D> &right)
{
    gpu::hold_registers(registers_of(sum));
    gpu::warpgroup_fence();
    GPU_UNROLL
    for (int k = 0; k < D / 16; k++)
        gpu::wgmma<T, gpu::b_rows::columns>(registers_of(sum), left.rows_by_columns(group_row(), k),
                                            right.rows_by_columns(0, k), k != 0);
    gpu::warpgroup_commit();
}

/* Starts a group: sum += left right, as many rows of `right` as left has columns. */
template <class T, int D, int N>
GPU_DEVICE void start_product(block<1, D / 8> &sum, const fragments<N> &left,
                              const box_tile<N * 8, D> &right)
{
    gpu::hold_registers(registers_of(sum));
    gpu::warpgroup_fence();
    GPU_UNROLL
    for (int k = 0; k < N / 2; k++)
        gpu::wgmma<T, gpu::b_rows::k>(registers_of(sum), left.a[k], right.rows_by_k(k), true);
    gpu::warpgroup_commit();
}

/* The block is there once at most `Groups` younger groups are on their way. */
template <int Groups, int N> GPU_DEVICE void wait_for(block<1, N> &sum)
{
    gpu::warpgroup_wait<Groups>();
    gpu::hold_registers(registers_of(sum));
}

} // namespace attention::sm90

#endif
