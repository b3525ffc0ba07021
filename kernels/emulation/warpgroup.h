/* wgmma and what goes with it; see kernels/common/warpgroup.h. */
#ifndef BALLAST_KERNELS_EMULATION_WARPGROUP_H
#define BALLAST_KERNELS_EMULATION_WARPGROUP_H

#include "kernels/emulation/matrix.h"
#include "kernels/emulation/where.h"
#include <cstdint>

namespace emulation
{

void warpgroup_fence(const where &at);
void warpgroup_commit(const where &at);
void warpgroup_wait(int groups, const where &at);
void set_registers(int registers, const where &at);

/* a: registers, or nullptr and a descriptor. by_k: rows of b in shared memory are those of k. */
void wgmma(float *d, int columns, const uint32_t *a, uint64_t a_matrix, uint64_t b_matrix,
           bool by_k, bool add, half_type type, const where &at);

} // namespace emulation

#endif
