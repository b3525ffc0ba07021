/* The linear part of one TP rank: its GEMMs, timed one by one or from a rate. */
#ifndef BALLAST_PROFILE_LINEAR_H
#define BALLAST_PROFILE_LINEAR_H

#include "kernels/profile/device.h"
#include "kernels/profile/options.h"

/* "cuBLAS GEMMs" or the rate, as the table says it; static. */
const char *profile_linear_source(const struct profile_options *options);

/* EX_UNAVAILABLE where there is neither cuBLAS nor a rate: better known before measuring. */
int profile_linear_check(const struct profile_options *options, ballast_attention_error *error);

/*
 * us of `options->linear_tokens` tokens through all layers of one of `tp` ranks.
 */
int profile_linear(struct profile_device *device, const struct profile_options *options,
                   uint32_t tp, double *ret_us, ballast_attention_error *error);

#endif
