/*
 * Matrix instructions of a warp. A fragment is what one lane holds of a matrix; with
 * group = lane / 4 and pair = 2 * (lane % 4), a lane holds of
 *     A, 16 x 16   a[0] row group, columns pair and pair + 1;  a[1] row group + 8;
 *                  a[2], a[3] the same rows, 8 columns on
 *     B, 16 x 8    b[0] rows pair and pair + 1 of column group;  b[1] 8 rows on
 *     C, 16 x 8    c[0], c[1] row group, columns pair and pair + 1;  c[2], c[3] row group + 8
 */
#ifndef BALLAST_KERNELS_COMMON_MATRIX_H
#define BALLAST_KERNELS_COMMON_MATRIX_H

#include "kernels/common/memory.h"
#include "kernels/common/number.h"
#include <type_traits>
#ifdef BALLAST_EMULATED
#include "kernels/emulation/matrix.h"
#endif

namespace gpu
{

/*
 * Four 8 x 8 matrices of two-byte numbers from shared memory. Lane 8 * i + r gives the address of
 * row r of matrix i, 16 bytes; out[i] is row group, columns pair and pair + 1 of matrix i.
 */
GPU_DEVICE void ldmatrix_x4(uint32_t out[4], const void *row, [[maybe_unused]] where at = where())
{
#ifdef BALLAST_EMULATED
    emulation::ldmatrix_x4(out, row, false, at);
#else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(shared_address(row))
                 : "memory");
#endif
}

/* The same, each matrix transposed: out[i] is column group, rows pair and pair + 1. */
GPU_DEVICE void ldmatrix_x4_trans(uint32_t out[4], const void *row,
                                  [[maybe_unused]] where at = where())
{
#ifdef BALLAST_EMULATED
    emulation::ldmatrix_x4(out, row, true, at);
#else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(shared_address(row))
                 : "memory");
#endif
}

#ifdef BALLAST_EMULATED
template <class T>
constexpr auto half_type_of =
    std::is_same_v<T, bf16> ? emulation::half_type::bf16 : emulation::half_type::fp16;
#endif

/* c += a b, mma.sync.m16n8k16; T is bf16 or fp16, sums are float. */
template <class T>
GPU_DEVICE void mma_m16n8k16(float c[4], const uint32_t a[4], const uint32_t b[2],
                             [[maybe_unused]] where at = where())
{
    static_assert(std::is_same_v<T, bf16> || std::is_same_v<T, fp16>);
#ifdef BALLAST_EMULATED
    emulation::mma_m16n8k16(c, a, b, half_type_of<T>, at);
#else
    if constexpr (std::is_same_v<T, bf16>)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    else
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

/* Two of them side by side: what one ldmatrix_x4 gives as b. One stop of the emulation, not two. */
template <class T>
GPU_DEVICE void mma_m16n16k16(float c0[4], float c1[4], const uint32_t a[4], const uint32_t b[4],
                              [[maybe_unused]] where at = where())
{
    static_assert(std::is_same_v<T, bf16> || std::is_same_v<T, fp16>);
#ifdef BALLAST_EMULATED
    emulation::mma_m16n16k16(c0, c1, a, b, half_type_of<T>, at);
#else
    mma_m16n8k16<T>(c0, a, b, at);
    mma_m16n8k16<T>(c1, a, b + 2, at);
#endif
}

} // namespace gpu

#endif
