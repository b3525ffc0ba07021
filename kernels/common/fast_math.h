/* Powers of two and their logarithms as the special function unit has them. */
#ifndef BALLAST_KERNELS_COMMON_FAST_MATH_H
#define BALLAST_KERNELS_COMMON_FAST_MATH_H

#include "kernels/common/target.h"
#include <cmath>

namespace gpu
{

/* 2^x, ex2.approx.ftz.f32: two units in the last place; 0 for -infinity. */
GPU_DEVICE float exp2_fast(float x)
{
#ifdef BALLAST_EMULATED
    return std::exp2(x);
#else
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
#endif
}

/* log2(x), lg2.approx.ftz.f32: absolute error 2^-22 near 1; -infinity for 0. */
GPU_DEVICE float log2_fast(float x)
{
#ifdef BALLAST_EMULATED
    return std::log2(x);
#else
    float logarithm;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(logarithm) : "f"(x));
    return logarithm;
#endif
}

} // namespace gpu

#endif
