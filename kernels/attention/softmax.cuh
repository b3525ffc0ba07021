/*
 * Softmax of rows whose scores come block by block. Scores are those before scaling; powers are of
 * two, with log2(e) in the scale.
 */
#ifndef BALLAST_ATTENTION_SOFTMAX_CUH
#define BALLAST_ATTENTION_SOFTMAX_CUH

#include "kernels/attention/product.cuh"
#include "kernels/common/fast_math.h"
#include "kernels/common/warp.h"

namespace attention
{

constexpr float ln_2 = 0.693147180559945F;

GPU_DEVICE float greater_of(float a, float b)
{
    return a > b ? a : b;
}

/* Over the four lanes that share a row. */
GPU_DEVICE float row_greatest(float value)
{
    value = greater_of(value, gpu::shuffle_xor(value, 1));
    return greater_of(value, gpu::shuffle_xor(value, 2));
}

GPU_DEVICE float row_sum(float value)
{
    value += gpu::shuffle_xor(value, 1);
    return value + gpu::shuffle_xor(value, 2);
}

template <int M> struct online_softmax {
    float greatest[M][2]; /* score so far; -infinity: none seen */
    float sum[M][2];      /* of this lane's powers so far */

    GPU_DEVICE online_softmax()
    {
        for (int m = 0; m < M; m++)
            for (int half = 0; half < 2; half++) {
                greatest[m][half] = -INFINITY;
                sum[m][half] = 0.0F;
            }
    }

    /*
     * Turns scores into powers relative to the greatest score so far. What was summed before in the
     * old measure is to be multiplied by `shrink`.
     */
    template <int N>
    GPU_DEVICE void take(block<M, N> &scores, float scale_log2, float (&shrink)[M][2])
    {
        GPU_UNROLL
        for (int m = 0; m < M; m++) {
            shrink[m][0] = take_row(scores.part[m], m, 0, scale_log2);
            shrink[m][1] = take_row(scores.part[m], m, 1, scale_log2);
        }
    }

    /* Natural logarithm of the row's sum of exponentials, and 1 / sum: what `out` is short of. */
    GPU_DEVICE void finish(int m, int half, float scale, float &lse, float &factor) const
    {
        const float total = row_sum(sum[m][half]);
        lse = greatest[m][half] * scale + gpu::log2_fast(total) * ln_2;
        factor = 1.0F / total;
        if (total == 0.0F) { /* a row that sees nothing */
            lse = -INFINITY;
            factor = 0.0F;
        }
    }

  private:
    template <int N>
    GPU_DEVICE float take_row(float (&scores)[N][4], int m, int half, float scale_log2)
    {
        float most = greatest[m][half];
        GPU_UNROLL
        for (int n = 0; n < N; n++)
            most = greater_of(most, greater_of(scores[n][2 * half], scores[n][2 * half + 1]));
        most = row_greatest(most);
        const float base = most == -INFINITY ? 0.0F : most * scale_log2;
        const float shrink = gpu::exp2_fast(greatest[m][half] * scale_log2 - base);
        greatest[m][half] = most;
        float total = sum[m][half] * shrink;
        GPU_UNROLL
        for (int i = 0; i < 2 * N; i++) {
            float &score = scores[i / 2][2 * half + i % 2];
            score = gpu::exp2_fast(score * scale_log2 - base);
            total += score;
        }
        sum[m][half] = total;
        return shrink;
    }
};

/* Brings the rows of a block into the measure of online_softmax::take. */
template <int M, int N> GPU_DEVICE void shrink_rows(block<M, N> &rows, const float (&shrink)[M][2])
{
    GPU_UNROLL
    for (int i = 0; i < M * N * 4; i++)
        rows.part[i / (N * 4)][i / 4 % N][i % 4] *= shrink[i / (N * 4)][i % 4 / 2];
}

} // namespace attention

#endif
