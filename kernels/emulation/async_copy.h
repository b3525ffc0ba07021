/* cp.async; see kernels/common/async_copy.h. */
#ifndef BALLAST_KERNELS_EMULATION_ASYNC_COPY_H
#define BALLAST_KERNELS_EMULATION_ASYNC_COPY_H

#include "kernels/emulation/where.h"

namespace emulation
{

void copy_async_16(void *shared, const void *global, bool valid, const where &at);
void copy_async_commit();
void copy_async_wait(int groups, const where &at);

} // namespace emulation

#endif
