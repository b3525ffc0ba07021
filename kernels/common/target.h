/*
 * One kernel source, two targets: nvcc makes PTX of it, a host compiler C++17 that runs on the CPU
 * device of kernels/emulation. The wrappers of this folder are all that a kernel may use of
 * either; each says the instruction it stands for.
 */
#ifndef BALLAST_KERNELS_COMMON_TARGET_H
#define BALLAST_KERNELS_COMMON_TARGET_H

#include <cstdint>

#ifdef BALLAST_EMULATED
#include "kernels/emulation/thread.h"

#define GPU_DEVICE inline
#define GPU_KERNEL(threads, blocks_per_multiprocessor) void
#define GPU_PARAMETER
#define GPU_UNROLL
#define GPU_NO_UNROLL
#else
#define GPU_DEVICE __device__ __forceinline__
#define GPU_KERNEL(threads, blocks_per_multiprocessor)                                             \
    __global__ void __launch_bounds__(threads, blocks_per_multiprocessor)
#define GPU_PARAMETER __grid_constant__
#define GPU_UNROLL _Pragma("unroll")
#define GPU_NO_UNROLL _Pragma("unroll 1")
#endif

namespace gpu
{

/* Who called a wrapper, for the reports of the emulation; nothing at all on a device. */
#ifdef BALLAST_EMULATED
using emulation::where;
#else
struct where {
};
#endif

constexpr int warp_threads = 32;

/* Blocks and grids have one dimension here; blocks are whole warps. */
GPU_DEVICE int thread_index()
{
#ifdef BALLAST_EMULATED
    return emulation::thread_index();
#else
    return static_cast<int>(threadIdx.x);
#endif
}

GPU_DEVICE int block_index()
{
#ifdef BALLAST_EMULATED
    return emulation::block_index();
#else
    return static_cast<int>(blockIdx.x);
#endif
}

GPU_DEVICE int block_count()
{
#ifdef BALLAST_EMULATED
    return emulation::block_count();
#else
    return static_cast<int>(gridDim.x);
#endif
}

GPU_DEVICE int lane_index()
{
    return thread_index() % warp_threads;
}

GPU_DEVICE int warp_index()
{
    return thread_index() / warp_threads;
}

} // namespace gpu

#endif
