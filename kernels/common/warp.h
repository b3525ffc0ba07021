/* What the 32 threads of a warp do together; all of them have to come. */
#ifndef BALLAST_KERNELS_COMMON_WARP_H
#define BALLAST_KERNELS_COMMON_WARP_H

#include "kernels/common/target.h"
#ifdef BALLAST_EMULATED
#include "kernels/emulation/warp.h"
#endif

namespace gpu
{

/* The value of lane `lane ^ mask`, shfl.sync.bfly; T is float, int or uint32_t. */
template <class T> GPU_DEVICE T shuffle_xor(T value, int mask, [[maybe_unused]] where at = where())
{
#ifdef BALLAST_EMULATED
    return emulation::shuffle(value, lane_index() ^ mask, at);
#else
    return __shfl_xor_sync(~0U, value, mask);
#endif
}

/* The value of lane `lane`, shfl.sync.idx. */
template <class T> GPU_DEVICE T shuffle(T value, int lane, [[maybe_unused]] where at = where())
{
#ifdef BALLAST_EMULATED
    return emulation::shuffle(value, lane % warp_threads, at);
#else
    return __shfl_sync(~0U, value, lane);
#endif
}

/* What a lane wrote before is seen by the others after, bar.warp.sync. */
GPU_DEVICE void warp_sync([[maybe_unused]] where at = where())
{
#ifdef BALLAST_EMULATED
    emulation::warp_sync(at);
#else
    __syncwarp();
#endif
}

} // namespace gpu

#endif
