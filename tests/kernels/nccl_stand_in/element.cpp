#include "element.h"

#include <cstring>

#include "kernels/half/half.h"

namespace stand_in
{

size_t element_bytes(ncclDataType_t type)
{
    switch (type) {
    case ncclFloat32:
        return sizeof(float);
    case ncclFloat16:
    case ncclBfloat16:
        return sizeof(uint16_t);
    default: /* NCCL's own header has more types than ours */
        return 0;
    }
}

static float half_to_float(ncclDataType_t type, uint16_t bits)
{
    return type == ncclBfloat16 ? bf16_to_float(bits) : fp16_to_float(bits);
}

static uint16_t float_to_half(ncclDataType_t type, float value)
{
    return type == ncclBfloat16 ? bf16_from_float(value) : fp16_from_float(value);
}

void element_add(ncclDataType_t type, const void *data, size_t first, std::vector<float> &sums)
{
    if (type == ncclFloat32) {
        const float *values = static_cast<const float *>(data) + first;
        for (size_t i = 0; i < sums.size(); i++)
            sums[i] += values[i];
        return;
    }
    const uint16_t *values = static_cast<const uint16_t *>(data) + first;
    for (size_t i = 0; i < sums.size(); i++) {
        const float sum = sums[i] + half_to_float(type, values[i]);
        sums[i] = half_to_float(type, float_to_half(type, sum));
    }
}

void element_store(ncclDataType_t type, const std::vector<float> &sums, void *data)
{
    if (type == ncclFloat32) {
        std::memcpy(data, sums.data(), sums.size() * sizeof(float));
        return;
    }
    uint16_t *values = static_cast<uint16_t *>(data);
    for (size_t i = 0; i < sums.size(); i++)
        values[i] = float_to_half(type, sums[i]);
}

} // namespace stand_in
