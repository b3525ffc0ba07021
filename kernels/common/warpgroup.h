/*
 * Products of a warpgroup, four warps of which the first has a number divisible by four, wgmma.
 * They are asynchronous: issued in groups, waited for by groups. Devices of 9.0, code for sm_90a.
 *
 * The result is 64 rows, 16 a warp, in the layout of matrix.h's C: with N columns, d[4 * n + i] is
 * c[i] of columns 8 * n and up. A from registers is matrix.h's A. Matrices in shared memory lie as
 * tensor_copy.h leaves boxes, and are named by descriptors.
 */
#ifndef BALLAST_KERNELS_COMMON_WARPGROUP_H
#define BALLAST_KERNELS_COMMON_WARPGROUP_H

#include "kernels/common/memory.h"
#include "kernels/common/number.h"
#include <type_traits>
#ifdef BALLAST_EMULATED
#include "kernels/emulation/warpgroup.h"
#endif

namespace gpu
{

constexpr int warpgroup_threads = 128;

/*
 * Descriptor of a matrix at a shared address: `across` is the distance in bytes of two boxes side
 * by side, for a matrix read by columns that is wider than 64.
 */
GPU_DEVICE uint64_t matrix_descriptor(uint32_t address, uint32_t across)
{
    constexpr uint64_t swizzle_128 = 1, eight_rows = 1024;
    return (address & 0x3ffff) >> 4 | static_cast<uint64_t>(across >> 4) << 16 |
           eight_rows >> 4 << 32 | swizzle_128 << 62;
}

/* Whether the rows of B in shared memory are columns of the product, or rows: keys, or values. */
enum class b_rows { columns, k };

/*
 * Before the first product, and again after registers that are operands or results have been
 * written: orders those writes before the products, wgmma.fence.
 */
GPU_DEVICE void warpgroup_fence([[maybe_unused]] where at = where())
{
#ifdef BALLAST_EMULATED
    emulation::warpgroup_fence(at);
#else
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

/*
 * The compiler does not see that products are asynchronous: it moves nothing that uses these
 * registers across this. To be called before the fence that precedes their first product, and
 * after the wait for the last.
 */
template <int Registers> GPU_DEVICE void hold_registers([[maybe_unused]] float (&d)[Registers])
{
#ifndef BALLAST_EMULATED
    GPU_UNROLL
    for (int i = 0; i < Registers; i++)
        asm volatile("" : "+f"(d[i])::"memory");
#endif
}

/* Ends a group of products. */
GPU_DEVICE void warpgroup_commit([[maybe_unused]] where at = where())
{
#ifdef BALLAST_EMULATED
    emulation::warpgroup_commit(at);
#else
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

/*
 * Waits until at most the `Groups` youngest groups are on their way. Until then their results are
 * not to be looked at, nor their operands changed.
 */
template <int Groups> GPU_DEVICE void warpgroup_wait([[maybe_unused]] where at = where())
{
#ifdef BALLAST_EMULATED
    emulation::warpgroup_wait(Groups, at);
#else
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Groups) : "memory");
#endif
}

/* Registers a thread of the warpgroup may have from now on, a multiple of 8; setmaxnreg. */
template <int Registers> GPU_DEVICE void give_registers([[maybe_unused]] where at = where())
{
    static_assert(Registers >= 24 && Registers <= 256 && Registers % 8 == 0);
#ifdef BALLAST_EMULATED
    emulation::set_registers(Registers, at);
#else
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
#endif
}

template <int Registers> GPU_DEVICE void take_registers([[maybe_unused]] where at = where())
{
    static_assert(Registers >= 24 && Registers <= 256 && Registers % 8 == 0);
#ifdef BALLAST_EMULATED
    emulation::set_registers(Registers, at);
#else
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
#endif
}

#ifdef BALLAST_EMULATED
/* d = a b, or d += a b; a and b in shared memory, a by rows of k. */
template <class T, b_rows Rows, int Registers>
inline void wgmma(float (&d)[Registers], uint64_t a, uint64_t b, bool add, where at = where())
{
    constexpr auto type =
        std::is_same_v<T, bf16> ? emulation::half_type::bf16 : emulation::half_type::fp16;
    emulation::wgmma(d, Registers * 2, nullptr, a, b, Rows == b_rows::k, add, type, at);
}

/* The same with a in registers. */
template <class T, b_rows Rows, int Registers>
inline void wgmma(float (&d)[Registers], const uint32_t (&a)[4], uint64_t b, bool add,
                  where at = where())
{
    constexpr auto type =
        std::is_same_v<T, bf16> ? emulation::half_type::bf16 : emulation::half_type::fp16;
    emulation::wgmma(d, Registers * 2, a, 0, b, Rows == b_rows::k, add, type, at);
}
#else
/* The text and the operands of one instruction; numbers of operands follow those of the result. */
#define GPU_8_RESULTS(d, i)                                                                        \
    "+f"(d[i + 0]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]),                \
        "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define GPU_32_RESULTS(d, i)                                                                       \
    GPU_8_RESULTS(d, i), GPU_8_RESULTS(d, i + 8), GPU_8_RESULTS(d, i + 16), GPU_8_RESULTS(d, i + 24)
#define GPU_REGISTERS_32                                                                           \
    "%0, %1, %2, %3, %4, %5, %6, %7, "                                                             \
    "%8, %9, %10, %11, %12, %13, %14, %15, "                                                       \
    "%16, %17, %18, %19, %20, %21, %22, %23, "                                                     \
    "%24, %25, %26, %27, %28, %29, %30, %31"
#define GPU_REGISTERS_64                                                                           \
    "%0, %1, %2, %3, %4, %5, %6, %7, "                                                             \
    "%8, %9, %10, %11, %12, %13, %14, %15, "                                                       \
    "%16, %17, %18, %19, %20, %21, %22, %23, "                                                     \
    "%24, %25, %26, %27, %28, %29, %30, %31, "                                                     \
    "%32, %33, %34, %35, %36, %37, %38, %39, "                                                     \
    "%40, %41, %42, %43, %44, %45, %46, %47, "                                                     \
    "%48, %49, %50, %51, %52, %53, %54, %55, "                                                     \
    "%56, %57, %58, %59, %60, %61, %62, %63"
#define GPU_WGMMA(shape, type, registers, operands, add, transposed)                               \
    "{\n.reg .pred add;\nsetp.ne.b32 add, " add ", 0;\n"                                           \
    "wgmma.mma_async.sync.aligned." shape "k16.f32." type "." type " {" registers "}, " operands   \
    ", add, 1, 1, " transposed ";\n}"

/* d = a b, or d += a b; a and b in shared memory, a by rows of k. */
template <class T, b_rows Rows>
GPU_DEVICE void wgmma(float (&d)[32], uint64_t a, uint64_t b, bool add, where = where())
{
    constexpr int transposed = Rows == b_rows::k;
    if constexpr (std::is_same_v<T, bf16>)
        asm volatile(GPU_WGMMA("m64n64", "bf16", GPU_REGISTERS_32, "%32, %33", "%34", "0, %35")
                     : GPU_32_RESULTS(d, 0)
                     : "l"(a), "l"(b), "r"(static_cast<int>(add)), "n"(transposed));
    else
        asm volatile(GPU_WGMMA("m64n64", "f16", GPU_REGISTERS_32, "%32, %33", "%34", "0, %35")
                     : GPU_32_RESULTS(d, 0)
                     : "l"(a), "l"(b), "r"(static_cast<int>(add)), "n"(transposed));
}

template <class T, b_rows Rows>
GPU_DEVICE void wgmma(float (&d)[64], uint64_t a, uint64_t b, bool add, where = where())
{
    constexpr int transposed = Rows == b_rows::k;
    if constexpr (std::is_same_v<T, bf16>)
        asm volatile(GPU_WGMMA("m64n128", "bf16", GPU_REGISTERS_64, "%64, %65", "%66", "0, %67")
                     : GPU_32_RESULTS(d, 0), GPU_32_RESULTS(d, 32)
                     : "l"(a), "l"(b), "r"(static_cast<int>(add)), "n"(transposed));
    else
        asm volatile(GPU_WGMMA("m64n128", "f16", GPU_REGISTERS_64, "%64, %65", "%66", "0, %67")
                     : GPU_32_RESULTS(d, 0), GPU_32_RESULTS(d, 32)
                     : "l"(a), "l"(b), "r"(static_cast<int>(add)), "n"(transposed));
}

/* The same with a in registers. */
template <class T, b_rows Rows>
GPU_DEVICE void wgmma(float (&d)[32], const uint32_t (&a)[4], uint64_t b, bool add, where = where())
{
    constexpr int transposed = Rows == b_rows::k;
    if constexpr (std::is_same_v<T, bf16>)
        asm volatile(
            GPU_WGMMA("m64n64", "bf16", GPU_REGISTERS_32, "{%32, %33, %34, %35}, %36", "%37", "%38")
            : GPU_32_RESULTS(d, 0)
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)),
              "n"(transposed));
    else
        asm volatile(
            GPU_WGMMA("m64n64", "f16", GPU_REGISTERS_32, "{%32, %33, %34, %35}, %36", "%37", "%38")
            : GPU_32_RESULTS(d, 0)
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)),
              "n"(transposed));
}

template <class T, b_rows Rows>
GPU_DEVICE void wgmma(float (&d)[64], const uint32_t (&a)[4], uint64_t b, bool add, where = where())
{
    constexpr int transposed = Rows == b_rows::k;
    if constexpr (std::is_same_v<T, bf16>)
        asm volatile(GPU_WGMMA("m64n128", "bf16", GPU_REGISTERS_64, "{%64, %65, %66, %67}, %68",
                               "%69", "%70")
                     : GPU_32_RESULTS(d, 0), GPU_32_RESULTS(d, 32)
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b),
                       "r"(static_cast<int>(add)), "n"(transposed));
    else
        asm volatile(
            GPU_WGMMA("m64n128", "f16", GPU_REGISTERS_64, "{%64, %65, %66, %67}, %68", "%69", "%70")
            : GPU_32_RESULTS(d, 0), GPU_32_RESULTS(d, 32)
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)),
              "n"(transposed));
}

#undef GPU_WGMMA
#undef GPU_REGISTERS_64
#undef GPU_REGISTERS_32
#undef GPU_32_RESULTS
#undef GPU_8_RESULTS
#endif

} // namespace gpu

#endif
