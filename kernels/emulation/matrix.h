/* ldmatrix and mma.sync; see kernels/common/matrix.h. */
#ifndef BALLAST_KERNELS_EMULATION_MATRIX_H
#define BALLAST_KERNELS_EMULATION_MATRIX_H

#include "kernels/emulation/where.h"
#include <cstdint>

namespace emulation
{

enum class half_type { bf16, fp16 };

void ldmatrix_x4(uint32_t out[4], const void *row, bool transposed, const where &at);

void mma_m16n8k16(float c[4], const uint32_t a[4], const uint32_t b[2], half_type type,
                  const where &at);

/* Two of them side by side. */
void mma_m16n16k16(float c0[4], float c1[4], const uint32_t a[4], const uint32_t b[4],
                   half_type type, const where &at);

} // namespace emulation

#endif
