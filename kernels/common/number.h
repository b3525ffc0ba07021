/* The two-byte numbers of tensors, on device and host alike. */
#ifndef BALLAST_KERNELS_COMMON_NUMBER_H
#define BALLAST_KERNELS_COMMON_NUMBER_H

#include "kernels/common/target.h"
#include "kernels/half/half.h"

namespace gpu
{

struct bf16 {
    uint16_t bits;
};

struct fp16 {
    uint16_t bits;
};

/* Two numbers in a register, as fragments hold them: `low` in the lower half. */
template <class T> GPU_DEVICE uint32_t pack2(float low, float high);

template <class T> GPU_DEVICE float to_float(T value);

template <class T> GPU_DEVICE T from_float(float value);

#ifdef BALLAST_EMULATED
template <> inline uint32_t pack2<bf16>(float low, float high)
{
    return bf16_from_float(low) | static_cast<uint32_t>(bf16_from_float(high)) << 16;
}

template <> inline uint32_t pack2<fp16>(float low, float high)
{
    return fp16_from_float(low) | static_cast<uint32_t>(fp16_from_float(high)) << 16;
}

template <> inline float to_float(bf16 value)
{
    return bf16_to_float(value.bits);
}

template <> inline float to_float(fp16 value)
{
    return fp16_to_float(value.bits);
}
#else
template <> GPU_DEVICE uint32_t pack2<bf16>(float low, float high)
{
    uint32_t pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

template <> GPU_DEVICE uint32_t pack2<fp16>(float low, float high)
{
    uint32_t pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

template <> GPU_DEVICE float to_float(bf16 value)
{
    return __uint_as_float(static_cast<uint32_t>(value.bits) << 16);
}

template <> GPU_DEVICE float to_float(fp16 value)
{
    float number;
    asm("cvt.f32.f16 %0, %1;" : "=f"(number) : "h"(value.bits));
    return number;
}
#endif

template <class T> GPU_DEVICE T from_float(float value)
{
    return T{ static_cast<uint16_t>(pack2<T>(value, 0.0F)) };
}

template <> GPU_DEVICE float from_float(float value)
{
    return value;
}

template <> GPU_DEVICE float to_float(float value)
{
    return value;
}

/* The halves of a packed pair. */
template <class T> GPU_DEVICE float low_of(uint32_t pair)
{
    return to_float(T{ static_cast<uint16_t>(pair) });
}

template <class T> GPU_DEVICE float high_of(uint32_t pair)
{
    return to_float(T{ static_cast<uint16_t>(pair >> 16) });
}

} // namespace gpu

#endif
