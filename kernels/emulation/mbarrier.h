/* mbarriers and fences of proxies; see kernels/common/mbarrier.h. */
#ifndef BALLAST_KERNELS_EMULATION_MBARRIER_H
#define BALLAST_KERNELS_EMULATION_MBARRIER_H

#include "kernels/emulation/where.h"

namespace emulation
{

void mbarrier_init(void *b, int count, const where &at);
void mbarrier_arrive(void *b, int bytes, const where &at);
void mbarrier_wait(void *b, int parity, const where &at);
void fence_mbarrier_init();
void fence_proxy_async();

} // namespace emulation

#endif
