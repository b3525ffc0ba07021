/* bf16 and fp16 as bits, to and from float, in plain C for host code; nearest, ties to even. */
#ifndef BALLAST_KERNELS_HALF_HALF_H
#define BALLAST_KERNELS_HALF_HALF_H

#include <stdint.h>
#include <string.h>

static inline float half_float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t half_bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float bf16_to_float(uint16_t bits)
{
    return half_float_of_bits((uint32_t)bits << 16);
}

static inline uint16_t bf16_from_float(float value)
{
    uint32_t bits = half_bits_of_float(value);
    if ((bits & 0x7fffffffU) > 0x7f800000U)
        return 0x7fff; /* the NaN that devices make */
    return (uint16_t)((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

/* Exponents move by 112; a product does it for subnormal numbers too. */
static inline float fp16_to_float(uint16_t bits)
{
    uint32_t sign = ((uint32_t)bits & 0x8000U) << 16;
    uint32_t magnitude = bits & 0x7fffU;
    uint32_t value = magnitude >= 0x7c00U
                         ? (magnitude << 13) + 0x70000000U /* infinity, NaN */
                         : half_bits_of_float(half_float_of_bits(magnitude << 13) * 0x1p112F);
    return half_float_of_bits(value | sign);
}

static inline uint16_t fp16_from_float(float value)
{
    uint32_t bits = half_bits_of_float(value);
    uint16_t sign = (uint16_t)((bits >> 16) & 0x8000U);
    uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U)
        return 0x7fff;
    if (magnitude >= 0x477ff000U) /* 65520 and more round to infinity */
        return (uint16_t)(sign | 0x7c00U);
    if (magnitude < 0x38800000U) /* below 2^-14: the sum leaves the bits of a subnormal number */
        return (uint16_t)(sign |
                          (half_bits_of_float(half_float_of_bits(magnitude) + 0.5F) & 0xffffU));
    magnitude += 0xfffU + ((magnitude >> 13) & 1U);
    return (uint16_t)(sign | ((magnitude - 0x38000000U) >> 13));
}

#endif
