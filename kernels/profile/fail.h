/* How functions of the profiler fail: a sysexits code, and a text that says why. */
#ifndef BALLAST_PROFILE_FAIL_H
#define BALLAST_PROFILE_FAIL_H

#include <ballast/attention.h>

/* Writes the text, cut to what fits, and returns `code`. */
__attribute__((format(printf, 3, 4))) int profile_fail(ballast_attention_error *error, int code,
                                                       const char *format, ...);

#endif
