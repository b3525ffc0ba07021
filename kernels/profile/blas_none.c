#include <sysexits.h>

#include "kernels/profile/blas.h"
#include "kernels/profile/fail.h"

bool profile_blas_available(void)
{
    return false;
}

int profile_blas_time(struct profile_device *device, ballast_attention_type type,
                      const struct profile_product *product, uint32_t repeats, double *ret_us,
                      ballast_attention_error *error)
{
    (void)device, (void)type, (void)product, (void)repeats, (void)ret_us;
    return profile_fail(error, EX_UNAVAILABLE, "built without cuBLAS");
}
