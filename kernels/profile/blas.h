/* Times matrix products by cuBLAS, where the build found it. */
#ifndef BALLAST_PROFILE_BLAS_H
#define BALLAST_PROFILE_BLAS_H

#include <stdbool.h>
#include <stdint.h>

#include <ballast/attention.h>

#include "kernels/profile/device.h"
#include "kernels/profile/gemm.h"

bool profile_blas_available(void);

/*
 * The median time of one product in us, operands and result in `type`, sums in fp32, all dense and
 * row-major. 0, or a sysexits code: EX_UNAVAILABLE where there is no cuBLAS.
 */
int profile_blas_time(struct profile_device *device, ballast_attention_type type,
                      const struct profile_product *product, uint32_t repeats, double *ret_us,
                      ballast_attention_error *error);

#endif
