/*
 * Barriers in shared memory that asynchronous copies arrive at too. A barrier is in a phase, of
 * parity 0 first; the phase ends when `count` arrivals and all expected bytes have come. Waiting
 * for the end of a phase shows what arrivals released and copies brought. Devices of 9.0 and newer.
 */
#ifndef BALLAST_KERNELS_COMMON_MBARRIER_H
#define BALLAST_KERNELS_COMMON_MBARRIER_H

#include "kernels/common/memory.h"
#ifdef BALLAST_EMULATED
#include "kernels/emulation/mbarrier.h"
#endif

namespace gpu
{

/* Only the functions below look inside. */
struct alignas(8) mbarrier {
    uint64_t state;
};

/* By one thread, before the others use it: fence_mbarrier_init and a barrier of the block follow.
 */
GPU_DEVICE void mbarrier_init(mbarrier *b, int count, [[maybe_unused]] where at = where())
{
#ifdef BALLAST_EMULATED
    emulation::mbarrier_init(b, count, at);
#else
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(b)), "r"(count)
                 : "memory");
#endif
}

/* Copies see the barriers that this thread made, fence.mbarrier_init. */
GPU_DEVICE void fence_mbarrier_init()
{
#ifdef BALLAST_EMULATED
    emulation::fence_mbarrier_init();
#else
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

/*
 * Tensor copies and wgmma see the plain accesses to shared memory that this thread is ordered
 * after, fence.proxy.async.
 */
GPU_DEVICE void fence_proxy_async()
{
#ifdef BALLAST_EMULATED
    emulation::fence_proxy_async();
#else
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/* One arrival. */
GPU_DEVICE void mbarrier_arrive(mbarrier *b, [[maybe_unused]] where at = where())
{
#ifdef BALLAST_EMULATED
    emulation::mbarrier_arrive(b, 0, at);
#else
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(b)) : "memory");
#endif
}

/* One arrival, and so many bytes that copies are to bring before the phase ends. */
GPU_DEVICE void mbarrier_arrive_expect(mbarrier *b, int bytes, [[maybe_unused]] where at = where())
{
#ifdef BALLAST_EMULATED
    emulation::mbarrier_arrive(b, bytes, at);
#else
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(b)),
                 "r"(bytes)
                 : "memory");
#endif
}

/* Waits until the phase of that parity has ended: 1 returns at once on a new barrier. */
GPU_DEVICE void mbarrier_wait(mbarrier *b, int parity, [[maybe_unused]] where at = where())
{
#ifdef BALLAST_EMULATED
    emulation::mbarrier_wait(b, parity, at);
#else
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(shared_address(b)),
                 "r"(parity)
                 : "memory");
#endif
}

} // namespace gpu

#endif
