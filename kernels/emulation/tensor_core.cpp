#include "kernels/emulation/tensor_core.h"

#include <cstring>

namespace emulation
{

/*
 * One body, compiled for what every x86-64 has and for AVX2, which takes a third of the time. Not
 * with fused multiply-add: results are to be the same everywhere.
 */
template <int columns>
__attribute__((always_inline)) static inline void multiply(float d[16][16], const float c[16][16],
                                                           const float a[16][16],
                                                           const float b[16][16])
{
    for (int row = 0; row < 16; row++) {
        float sum[columns];
        std::memcpy(sum, c[row], sizeof sum);
        for (int k = 0; k < 16; k++)
            for (int column = 0; column < columns; column++)
                sum[column] += a[row][k] * b[k][column];
        std::memcpy(d[row], sum, sizeof sum);
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void multiply_avx2(float d[16][16], const float c[16][16],
                                                          const float a[16][16],
                                                          const float b[16][16], int columns)
{
    if (columns == 8)
        multiply<8>(d, c, a, b);
    else
        multiply<16>(d, c, a, b);
}

static const bool has_avx2 = __builtin_cpu_supports("avx2");
#endif

void multiply_16x16(float d[16][16], const float c[16][16], const float a[16][16],
                    const float b[16][16], int columns)
{
#if defined(__x86_64__)
    if (has_avx2) {
        multiply_avx2(d, c, a, b, columns);
        return;
    }
#endif
    if (columns == 8)
        multiply<8>(d, c, a, b);
    else
        multiply<16>(d, c, a, b);
}

} // namespace emulation
