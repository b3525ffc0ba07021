/* Kernel launches from C++ host code, the same for both targets. */
#ifndef BALLAST_KERNELS_COMMON_LAUNCH_H
#define BALLAST_KERNELS_COMMON_LAUNCH_H

#include <cuda_runtime.h>
#include <tuple>
#include <utility>
#ifdef BALLAST_EMULATED
#include "kernels/emulation/launch.h"
#endif

namespace gpu
{

struct launch_shape {
    int blocks, threads;
    size_t shared_bytes; /* dynamic, up to what the device allows a block that asks for more */
    cudaStream_t stream;
};

/*
 * Enqueues `kernel` and returns. Arguments are copied. Errors are CUDA's: of the shape, or of
 * earlier work.
 */
template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), const launch_shape &shape,
                   Arguments &&...arguments)
{
    std::tuple<Parameters...> values(std::forward<Arguments>(arguments)...);
#ifdef BALLAST_EMULATED
    return emulation::launch({ shape.blocks, shape.threads, shape.shared_bytes }, shape.stream,
                             [=] { std::apply(kernel, values); });
#else
    const auto *entry = reinterpret_cast<const void *>(kernel);
    cudaError_t error = cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(shape.shared_bytes));
    if (error != cudaSuccess)
        return error;
    return std::apply(
        [&](auto &...value) {
            void *pointers[] = { const_cast<void *>(static_cast<const void *>(&value))... };
            return cudaLaunchKernel(entry, dim3(static_cast<unsigned>(shape.blocks)),
                                    dim3(static_cast<unsigned>(shape.threads)), pointers,
                                    shape.shared_bytes, shape.stream);
        },
        values);
#endif
}

/* Blocks that the device holds at once: the grid of persistent kernels. */
template <class... Parameters>
cudaError_t blocks_per_device([[maybe_unused]] void (*kernel)(Parameters...), int threads,
                              size_t shared_bytes, int *ret_blocks)
{
    int device, multiprocessors, blocks;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    if (error != cudaSuccess)
        return error;
#ifdef BALLAST_EMULATED
    error = emulation::blocks_per_multiprocessor(threads, shared_bytes, &blocks);
#else
    const auto *entry = reinterpret_cast<const void *>(kernel);
    error = cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(shared_bytes));
    if (error == cudaSuccess)
        error =
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, entry, threads, shared_bytes);
#endif
    if (error == cudaSuccess)
        *ret_blocks = blocks * multiprocessors;
    return error;
}

} // namespace gpu

#endif
