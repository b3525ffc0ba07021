/* bar.sync and bar.arrive; see kernels/common/barrier.h. */
#ifndef BALLAST_KERNELS_EMULATION_BARRIER_H
#define BALLAST_KERNELS_EMULATION_BARRIER_H

#include "kernels/emulation/where.h"

namespace emulation
{

void block_barrier(const where &at);
void named_barrier(int id, int threads, const where &at);
void named_barrier_arrive(int id, int threads, const where &at);

} // namespace emulation

#endif
