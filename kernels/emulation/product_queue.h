/*
 * The wgmma products of one warp that are on their way. Their results are kept here until they are
 * waited for, while the registers that they will go to hold NaN.
 */
#ifndef BALLAST_KERNELS_EMULATION_PRODUCT_QUEUE_H
#define BALLAST_KERNELS_EMULATION_PRODUCT_QUEUE_H

#include "kernels/emulation/where.h"
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace emulation
{

constexpr int warp_result_rows = 16, greatest_columns = 256;

/* A result, to which a chain of products may have added. */
struct pending_result {
    std::array<float *, 32> registers; /* of each lane, where the result goes */
    int columns;
    unsigned group; /* the last that added to it */
    where at;
    float value[warp_result_rows][greatest_columns];
};

/* 16 bytes of shared memory that a product of a group reads. */
struct pending_read {
    uint32_t offset;
    unsigned group;
};

struct product_queue {
    unsigned group = 0;  /* the one that is open */
    bool fenced = false; /* since the registers of results were last in anyone's hands */
    std::vector<std::unique_ptr<pending_result>> results;
    std::vector<pending_read> reads;
    uint64_t digest = 0; /* of all that were issued: the same in each warp of a warpgroup */
    where last;

    void clear()
    {
        *this = product_queue();
    }
};

} // namespace emulation

#endif
