/*
 * Products of a warp. Its result is a block of M x 16 rows and N x 8 columns in registers: lane l
 * holds of each 16 x 8 part (matrix.h) rows l / 4 and l / 4 + 8, columns 2 (l % 4) and the next.
 */
#ifndef BALLAST_ATTENTION_PRODUCT_CUH
#define BALLAST_ATTENTION_PRODUCT_CUH

#include "kernels/attention/shared_tile.cuh"

namespace attention
{

template <int M, int N> struct block {
    float part[M][N][4];

    GPU_DEVICE void clear()
    {
        GPU_UNROLL
        for (int i = 0; i < M * N * 4; i++)
            part[i / (N * 4)][i / 4 % N][i % 4] = 0.0F;
    }
};

/* Row and column of the block that element i of part (m, n) is. */
GPU_DEVICE int block_row(int m, int i)
{
    return m * 16 + gpu::lane_index() / 4 + i / 2 * 8;
}

GPU_DEVICE int block_column(int n, int i)
{
    return n * 8 + gpu::lane_index() % 4 * 2 + i % 2;
}

/* block += left right^T: rows left_row.. of `left`, right_row.. of `right`, over all D columns. */
template <class T, int D, int M, int N>
GPU_DEVICE void add_product_transposed(block<M, N> &sum, const shared_tile<D> &left, int left_row,
                                       const shared_tile<D> &right, int right_row = 0)
{
    const unsigned left_lane = left.lane_of_a(left_row);
    const unsigned right_lane = right.lane_of_b_transposed(right_row);
    GPU_UNROLL
    for (int k = 0; k < D / 16; k++) {
        uint32_t a[M][4];
        GPU_UNROLL
        for (int m = 0; m < M; m++)
            left.load(a[m], left_lane, m * 16, k);
        GPU_UNROLL
        for (int n = 0; n < N; n += 2) {
            uint32_t b[4];
            right.load(b, right_lane, n * 8, k);
            GPU_UNROLL
            for (int m = 0; m < M; m++)
                gpu::mma_m16n16k16<T>(sum.part[m][n], sum.part[m][n + 1], a[m], b);
        }
    }
}

/* Columns 16 k .. 16 k + 15 of a block, rounded to T, as the A of an mma. */
template <class T, int M, int N>
GPU_DEVICE void round_to_a(uint32_t a[4], const block<M, N> &from, int m, int k)
{
    const float *left = from.part[m][2 * k], *right = from.part[m][2 * k + 1];
    a[0] = gpu::pack2<T>(left[0], left[1]);
    a[1] = gpu::pack2<T>(left[2], left[3]);
    a[2] = gpu::pack2<T>(right[0], right[1]);
    a[3] = gpu::pack2<T>(right[2], right[3]);
}

/* block += left right: `left` rounded to T, rows right_row.. of `right`, one a column of left. */
template <class T, int D, int M, int N>
GPU_DEVICE void add_product(block<M, D / 8> &sum, const block<M, N> &left,
                            const shared_tile<D> &right, int right_row = 0)
{
    const unsigned right_lane = right.lane_of_a(right_row);
    GPU_UNROLL
    for (int k = 0; k < N / 2; k++) {
        uint32_t a[M][4];
        GPU_UNROLL
        for (int m = 0; m < M; m++)
            round_to_a<T>(a[m], left, m, k);
        GPU_UNROLL
        for (int n = 0; n < D / 16; n++) {
            uint32_t b[4];
            right.load_b(b, right_lane, k * 16, n);
            GPU_UNROLL
            for (int m = 0; m < M; m++)
                gpu::mma_m16n16k16<T>(sum.part[m][2 * n], sum.part[m][2 * n + 1], a[m], b);
        }
    }
}

} // namespace attention

#endif
