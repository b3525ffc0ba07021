/*
 * Copies from global to shared memory that go on while the thread computes, cp.async. A thread
 * waits for its own copies; others see them after a barrier that follows its wait.
 */
#ifndef BALLAST_KERNELS_COMMON_ASYNC_COPY_H
#define BALLAST_KERNELS_COMMON_ASYNC_COPY_H

#include "kernels/common/memory.h"
#ifdef BALLAST_EMULATED
#include "kernels/emulation/async_copy.h"
#endif

namespace gpu
{

/* 16 bytes, both sides aligned to 16. Not valid: zeros are written and `global` is not read. */
GPU_DEVICE void copy_async_16(void *shared, const void *global, bool valid,
                              [[maybe_unused]] where at = where())
{
#ifdef BALLAST_EMULATED
    emulation::copy_async_16(shared, global, valid, at);
#else
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)),
                 "l"(global), "r"(valid ? 16 : 0)
                 : "memory");
#endif
}

/* Ends a group, which may be empty. */
GPU_DEVICE void copy_async_commit()
{
#ifdef BALLAST_EMULATED
    emulation::copy_async_commit();
#else
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Waits until at most the `Groups` youngest groups are on their way. */
template <int Groups> GPU_DEVICE void copy_async_wait([[maybe_unused]] where at = where())
{
#ifdef BALLAST_EMULATED
    emulation::copy_async_wait(Groups, at);
#else
    asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
#endif
}

} // namespace gpu

#endif
