/* Launches; see kernels/common/launch.h. */
#ifndef BALLAST_KERNELS_EMULATION_LAUNCH_H
#define BALLAST_KERNELS_EMULATION_LAUNCH_H

#include <cuda_runtime.h>
#include <functional>

namespace emulation
{

struct launch_shape {
    int blocks, threads;
    size_t shared_bytes;
};

/* Runs `kernel` on every thread, after all that the stream has. */
cudaError_t launch(const launch_shape &shape, cudaStream_t stream, std::function<void()> kernel);

cudaError_t blocks_per_multiprocessor(int threads, size_t shared_bytes, int *ret_blocks);

} // namespace emulation

#endif
