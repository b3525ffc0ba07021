/* Barriers of a block, bar.sync: what was written before is seen after. */
#ifndef BALLAST_KERNELS_COMMON_BARRIER_H
#define BALLAST_KERNELS_COMMON_BARRIER_H

#include "kernels/common/target.h"
#ifdef BALLAST_EMULATED
#include "kernels/emulation/barrier.h"
#endif

namespace gpu
{

/* Waits for all threads of the block; none may have ended. */
GPU_DEVICE void block_barrier([[maybe_unused]] where at = where())
{
#ifdef BALLAST_EMULATED
    emulation::block_barrier(at);
#else
    __syncthreads();
#endif
}

/* Waits until `threads` threads, whole warps, have come to barrier `id`, 1 to 15. */
GPU_DEVICE void named_barrier(int id, int threads, [[maybe_unused]] where at = where())
{
#ifdef BALLAST_EMULATED
    emulation::named_barrier(id, threads, at);
#else
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
#endif
}

/* Comes to barrier `id` and goes on: others wait for what this thread wrote before. */
GPU_DEVICE void named_barrier_arrive(int id, int threads, [[maybe_unused]] where at = where())
{
#ifdef BALLAST_EMULATED
    emulation::named_barrier_arrive(id, threads, at);
#else
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
#endif
}

} // namespace gpu

#endif
