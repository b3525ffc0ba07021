/* The arithmetic of matrix instructions: products of 16 columns, summed in float, in order. */
#ifndef BALLAST_KERNELS_EMULATION_TENSOR_CORE_H
#define BALLAST_KERNELS_EMULATION_TENSOR_CORE_H

namespace emulation
{

/* d = c + a b, of the first `columns` columns, 8 or 16. */
void multiply_16x16(float d[16][16], const float c[16][16], const float a[16][16],
                    const float b[16][16], int columns);

/* d += a b of 16 rows, with rows of 256 numbers of which the first `columns` count, a multiple
 * of 16. */
void add_product(float d[16][256], const float a[16][16], const float b[16][256], int columns);

} // namespace emulation

#endif
