#include "kernels/profile/linear.h"

#include <sysexits.h>

#include "kernels/profile/blas.h"
#include "kernels/profile/fail.h"

const char *profile_linear_source(const struct profile_options *options)
{
    return options->tflops > 0 ? "GEMM operations at the rate of --tflops; no collectives"
                               : "GEMMs as cuBLAS runs them; no collectives, no element-wise work";
}

int profile_linear_check(const struct profile_options *options, ballast_attention_error *error)
{
    if (options->tflops > 0 || profile_blas_available())
        return 0;
    return profile_fail(error, EX_UNAVAILABLE,
                        "built without cuBLAS, which measures the linear part: give --tflops");
}

static int time_gemm(struct profile_device *device, const struct profile_options *options,
                     const struct profile_gemm *gemm, double *ret_us,
                     ballast_attention_error *error)
{
    struct profile_product products[PROFILE_PASSES];
    profile_products(gemm, options->linear_tokens, products);
    double sum = 0;
    for (int pass = 0; pass < (options->training ? PROFILE_PASSES : 1); pass++) {
        double us = 0;
        int status =
            profile_blas_time(device, options->type, &products[pass], options->repeats, &us, error);
        if (status)
            return status;
        sum += us;
    }
    *ret_us = sum;
    return 0;
}

int profile_linear(struct profile_device *device, const struct profile_options *options,
                   uint32_t tp, double *ret_us, ballast_attention_error *error)
{
    struct profile_gemm gemms[PROFILE_GEMMS];
    double sum = 0;
    if (options->tflops > 0) { /* 1 TFLOP/s is 1e6 operations a microsecond */
        *ret_us =
            profile_linear_flops(&options->model, tp, options->linear_tokens, options->training) /
            (options->tflops * 1e6);
        return 0;
    }
    profile_gemms(&options->model, tp, gemms);
    for (int i = 0; i < PROFILE_GEMMS; i++) {
        double us = 0;
        int status = time_gemm(device, options, &gemms[i], &us, error);
        if (status)
            return status;
        sum += gemms[i].count * us;
    }
    *ret_us = sum;
    return 0;
}
