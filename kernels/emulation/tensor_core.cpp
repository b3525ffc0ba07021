#include "kernels/emulation/tensor_core.h"

#include <cstring>

namespace emulation
{

/*
 * One body, compiled for what every x86-64 has and for AVX2, which takes a third of the time. Not
 * with fused multiply-add: results are to be the same everywhere.
 */
template <int columns>
__attribute__((always_inline)) static inline void multiply(float *d, const float *c, int stride,
                                                           const float a[16][16], const float *b)
{
    for (int row = 0; row < 16; row++) {
        float sum[columns];
        std::memcpy(sum, c + row * stride, sizeof sum);
        for (int k = 0; k < 16; k++)
            for (int column = 0; column < columns; column++)
                sum[column] += a[row][k] * b[k * stride + column];
        std::memcpy(d + row * stride, sum, sizeof sum);
    }
}

__attribute__((always_inline)) static inline void multiply_columns(float *d, const float *c,
                                                                   int stride,
                                                                   const float a[16][16],
                                                                   const float *b, int columns)
{
    for (; columns >= 16; columns -= 16, d += 16, c += 16, b += 16)
        multiply<16>(d, c, stride, a, b);
    if (columns != 0)
        multiply<8>(d, c, stride, a, b);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void multiply_avx2(float *d, const float *c, int stride,
                                                          const float a[16][16], const float *b,
                                                          int columns)
{
    multiply_columns(d, c, stride, a, b, columns);
}

static const bool has_avx2 = __builtin_cpu_supports("avx2");
#else
static const bool has_avx2 = false;
#define multiply_avx2 multiply_columns
#endif

void multiply_16x16(float d[16][16], const float c[16][16], const float a[16][16],
                    const float b[16][16], int columns)
{
    if (has_avx2)
        multiply_avx2(d[0], c[0], 16, a, b[0], columns);
    else
        multiply_columns(d[0], c[0], 16, a, b[0], columns);
}

void add_product(float d[16][256], const float a[16][16], const float b[16][256], int columns)
{
    if (has_avx2)
        multiply_avx2(d[0], d[0], 256, a, b[0], columns);
    else
        multiply_columns(d[0], d[0], 256, a, b[0], columns);
}

} // namespace emulation
