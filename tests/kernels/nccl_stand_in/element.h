/* Numbers in the formats that are reduced. */
#ifndef BALLAST_TESTS_KERNELS_ELEMENT_H
#define BALLAST_TESTS_KERNELS_ELEMENT_H

#include <nccl.h>

#include <vector>

namespace stand_in
{

/* 0 for a type that the stand-in does not have. */
size_t element_bytes(ncclDataType_t type);

/* sums[i] += data[first + i], rounded to the type after each addition, as NCCL does. */
void element_add(ncclDataType_t type, const void *data, size_t first, std::vector<float> &sums);

void element_store(ncclDataType_t type, const std::vector<float> &sums, void *data);

} // namespace stand_in

#endif
