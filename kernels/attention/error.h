/* What went wrong, put into words. */
#ifndef BALLAST_ATTENTION_ERROR_H
#define BALLAST_ATTENTION_ERROR_H

#include <ballast/attention.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Writes the text and returns the status: `return attention_error(error, BALLAST_..., "...")`.
 * `error` may be NULL; a text too long is cut.
 */
__attribute__((format(printf, 3, 4))) ballast_attention_status attention_error(
    ballast_attention_error *error, ballast_attention_status status, const char *format, ...);

#ifdef __cplusplus
}
#endif

#endif
