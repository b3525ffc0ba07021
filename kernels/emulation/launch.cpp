#include "kernels/emulation/launch.h"

#include "kernels/emulation/grid.h"
#include "kernels/emulation/stream.h"
#include <algorithm>

namespace emulation
{

static constexpr int warp_threads = 32;
static constexpr size_t reserved_bytes = 1024; /* of each block, by the system */

cudaError_t blocks_per_multiprocessor(int threads, size_t shared_bytes, int *ret_blocks)
{
    cudaDeviceProp device;
    cudaError_t error = cudaGetDeviceProperties(&device, 0);
    if (error != cudaSuccess)
        return error;
    if (threads <= 0 || threads > device.maxThreadsPerBlock || threads % warp_threads != 0)
        return cudaErrorInvalidConfiguration;
    if (shared_bytes > device.sharedMemPerBlockOptin)
        return cudaErrorInvalidValue;
    auto by_memory =
        static_cast<int>(device.sharedMemPerMultiprocessor / (shared_bytes + reserved_bytes));
    *ret_blocks = std::min(by_memory, device.maxThreadsPerMultiProcessor / threads);
    return cudaSuccess;
}

cudaError_t launch(const launch_shape &shape, cudaStream_t stream, std::function<void()> kernel)
{
    int fitting;
    cudaError_t error = blocks_per_multiprocessor(shape.threads, shape.shared_bytes, &fitting);
    if (error != cudaSuccess)
        return error;
    if (shape.blocks <= 0 || fitting == 0)
        return cudaErrorInvalidConfiguration;
    enqueue(stream, [=] { run_grid(shape.blocks, shape.threads, shape.shared_bytes, kernel); });
    return cudaSuccess;
}

} // namespace emulation
