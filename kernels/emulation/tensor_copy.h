/* Boxes of tensors; see kernels/common/tensor_copy.h. */
#ifndef BALLAST_KERNELS_EMULATION_TENSOR_COPY_H
#define BALLAST_KERNELS_EMULATION_TENSOR_COPY_H

#include "kernels/emulation/where.h"
#include <cstdint>
#include <cuda_runtime.h>

namespace emulation
{

/* As large as CUDA's, and aligned alike. */
struct alignas(64) tensor_map {
    const void *start;
    uint32_t sizes[3];
    int64_t strides[2]; /* of the second and third axis, in numbers */
    uint32_t box[3];
    uint8_t unused[72];
};
static_assert(sizeof(tensor_map) == 128);

struct tensor_description {
    const void *start;
    uint32_t width, height, depth;
    int64_t y_stride, z_stride;
    uint32_t box_width, box_height, box_depth;
};

cudaError_t describe_tensor(const tensor_description &description, tensor_map *ret_map);

void copy_box(void *shared, const tensor_map *map, void *mbarrier, int x, int y, int z,
              const where &at);

} // namespace emulation

#endif
