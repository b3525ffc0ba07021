/*
 * Copies of boxes from a tensor in global memory to shared memory, cp.async.bulk.tensor ("TMA"):
 * one thread asks, an mbarrier tells when the bytes are there. Devices of 9.0 and newer.
 *
 * A tensor here has three axes of two-byte numbers, the first one dense. Boxes are 64 numbers wide,
 * 128 bytes, and lie in shared memory row after row in the 128-byte swizzle: chunk c of row r, 16
 * bytes, where chunk c ^ (r % 8) would, if the box is aligned to 1024. What a box has outside of
 * the tensor becomes zeros.
 */
#ifndef BALLAST_KERNELS_COMMON_TENSOR_COPY_H
#define BALLAST_KERNELS_COMMON_TENSOR_COPY_H

#include "kernels/common/mbarrier.h"
#include <cuda_runtime.h>
#ifdef BALLAST_EMULATED
#include "kernels/emulation/tensor_copy.h"
#else
#include <cuda.h>
#endif

namespace gpu
{

/* A kernel has them as parameters declared GPU_PARAMETER. */
#ifdef BALLAST_EMULATED
using emulation::tensor_map;
#else
struct tensor_map {
    CUtensorMap map;
};
#endif

constexpr int tensor_box_width = 64;

struct tensor_shape {
    const void *start;              /* aligned to 16 */
    uint32_t width, height, depth;  /* numbers along the axes */
    int64_t y_stride, z_stride;     /* numbers from one to the next, multiples of 8 */
    uint32_t box_height, box_depth; /* at most 256 */
};

/* For host code. Errors: cudaErrorInvalidValue, or what the driver says. */
inline cudaError_t make_tensor_map(const tensor_shape &shape, tensor_map *ret_map)
{
#ifdef BALLAST_EMULATED
    return emulation::describe_tensor({ shape.start, shape.width, shape.height, shape.depth,
                                        shape.y_stride, shape.z_stride, tensor_box_width,
                                        shape.box_height, shape.box_depth },
                                      ret_map);
#else
    void *found = nullptr;
    cudaDriverEntryPointQueryResult result;
    cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000,
                                                         cudaEnableDefault, &result);
    if (error != cudaSuccess)
        return error;
    if (result != cudaDriverEntryPointSuccess)
        return cudaErrorNotSupported;
    auto *encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
    const cuuint64_t sizes[] = { shape.width, shape.height, shape.depth };
    const cuuint64_t strides[] = { static_cast<cuuint64_t>(shape.y_stride) * 2,
                                   static_cast<cuuint64_t>(shape.z_stride) * 2 };
    const cuuint32_t box[] = { tensor_box_width, shape.box_height, shape.box_depth };
    const cuuint32_t steps[] = { 1, 1, 1 };
    CUresult status = encode(&ret_map->map, CU_TENSOR_MAP_DATA_TYPE_UINT16, 3,
                             const_cast<void *>(shape.start), sizes, strides, box, steps,
                             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return status == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
#endif
}

/* Bytes that a box brings, what is outside of the tensor included. */
GPU_DEVICE constexpr int box_bytes(int height, int depth)
{
    return tensor_box_width * 2 * height * depth;
}

/* Starts the copy of the box whose first number is (x, y, z); `b` gets its bytes. */
GPU_DEVICE void copy_box(void *shared, const tensor_map *map, mbarrier *b, int x, int y, int z,
                         [[maybe_unused]] where at = where())
{
#ifdef BALLAST_EMULATED
    emulation::copy_box(shared, map, b, x, y, z, at);
#else
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(shared_address(shared)),
                 "l"(map), "r"(shared_address(b)), "r"(x), "r"(y), "r"(z)
                 : "memory");
#endif
}

} // namespace gpu

#endif
