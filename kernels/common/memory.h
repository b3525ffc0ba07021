/*
 * Plain accesses to shared and global memory. A kernel goes through these, for what a `*` does is
 * not seen by the checkers of the emulation; on a device they are a `*`.
 */
#ifndef BALLAST_KERNELS_COMMON_MEMORY_H
#define BALLAST_KERNELS_COMMON_MEMORY_H

#include "kernels/common/target.h"
#ifdef BALLAST_EMULATED
#include "kernels/emulation/access.h"
#else
extern __shared__ __align__(1024) uint8_t gpu_dynamic_shared_memory[];
#endif

namespace gpu
{

/* The block's shared memory, as many bytes as the launch asked for, aligned to 1024. */
GPU_DEVICE uint8_t *shared_memory()
{
#ifdef BALLAST_EMULATED
    return emulation::shared_memory();
#else
    return gpu_dynamic_shared_memory;
#endif
}

/* The address that instructions and descriptors take: bytes from the start of shared memory. */
GPU_DEVICE uint32_t shared_address(const void *pointer)
{
#ifdef BALLAST_EMULATED
    return emulation::shared_offset(pointer);
#else
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
#endif
}

template <class T>
constexpr bool one_access = sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16;

/*
 * Of 2, 4, 8 or 16 bytes, aligned to its size. Words of 4 bytes are what races are found in: warps
 * that write halves of one need a barrier between them here.
 */
template <class T> GPU_DEVICE T shared_load(const T *from, [[maybe_unused]] where at = where())
{
    static_assert(one_access<T>);
#ifdef BALLAST_EMULATED
    if (!emulation::note_shared_read(from, sizeof(T), at))
        return T{};
#endif
    return *from;
}

template <class T>
GPU_DEVICE void shared_store(T *to, const T &value, [[maybe_unused]] where at = where())
{
    static_assert(one_access<T>);
#ifdef BALLAST_EMULATED
    if (!emulation::note_shared_write(to, sizeof(T), at))
        return;
#endif
    *to = value;
}

/* Of any size, aligned to the greatest power of two in it, at most 16. */
template <class T> GPU_DEVICE T global_load(const T *from, [[maybe_unused]] where at = where())
{
#ifdef BALLAST_EMULATED
    if (!emulation::note_global_read(from, sizeof(T), at))
        return T{};
#endif
    return *from;
}

template <class T>
GPU_DEVICE void global_store(T *to, const T &value, [[maybe_unused]] where at = where())
{
#ifdef BALLAST_EMULATED
    if (!emulation::note_global_write(to, sizeof(T), at))
        return;
#endif
    *to = value;
}

/* The counter's value before it went up by one; how persistent blocks share out tiles. */
GPU_DEVICE int take_next(int *counter, [[maybe_unused]] where at = where())
{
#ifdef BALLAST_EMULATED
    return emulation::take_next(counter, at);
#else
    return atomicAdd(counter, 1);
#endif
}

} // namespace gpu

#endif
