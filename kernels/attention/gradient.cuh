/* What both backward kernels do between their products, element by element. */
#ifndef BALLAST_ATTENTION_GRADIENT_CUH
#define BALLAST_ATTENTION_GRADIENT_CUH

#include "kernels/attention/arguments.h"
#include "kernels/common/fast_math.h"

namespace attention
{

/* Of key `key` of the piece; a row that does not see it may have any lse, also -infinity. */
GPU_DEVICE float probability(float score, float scale_log2, const row_facts &row, int key)
{
    return key < static_cast<int>(row.visible) ? gpu::exp2_fast(score * scale_log2 - row.lse_log2)
                                               : 0.0F;
}

/* Gradient of the scaled score; `reward` is out_gradient . v, the gradient of the probability. */
GPU_DEVICE float score_gradient(float probability, float reward, float delta)
{
    return probability * (reward - delta);
}

} // namespace attention

#endif
