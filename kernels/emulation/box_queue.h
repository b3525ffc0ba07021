/* Copies of boxes that are on their way to a block's shared memory. */
#ifndef BALLAST_KERNELS_EMULATION_BOX_QUEUE_H
#define BALLAST_KERNELS_EMULATION_BOX_QUEUE_H

#include "kernels/emulation/where.h"
#include <cstdint>
#include <vector>

namespace emulation
{

class block;

struct pending_box {
    uint32_t offset; /* in shared memory */
    size_t mbarrier; /* index in the block's */
    int warp;        /* that asked */
    where at;
    std::vector<const void *> rows; /* 128 bytes each; NULL: zeros */
    uint32_t row_bytes;             /* of them inside of the tensor */
};

using box_queue = std::vector<pending_box>;

/* Brings one of them, any, as a device would; there is one. */
void land_a_box(block &b);

} // namespace emulation

#endif
