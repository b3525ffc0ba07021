#include "kernels/attention/error.h"

#include <stdarg.h>
#include <stdio.h>

#define ATTENTION_VERSION "0.1.0"

const char *ballast_attention_version(void)
{
    return ATTENTION_VERSION;
}

const char *ballast_attention_status_text(ballast_attention_status status)
{
    switch (status) {
    case BALLAST_ATTENTION_OK:
        return "no error";
    case BALLAST_ATTENTION_INVALID:
        return "an argument is out of its documented range";
    case BALLAST_ATTENTION_UNSUPPORTED:
        return "there is no kernel for it here";
    case BALLAST_ATTENTION_NO_MEMORY:
        return "out of memory";
    case BALLAST_ATTENTION_DEVICE:
        return "CUDA refused";
    case BALLAST_ATTENTION_COMMUNICATION:
        return "NCCL failed";
    case BALLAST_ATTENTION_TIMEOUT:
        return "not done in time";
    case BALLAST_ATTENTION_ABORTED:
        return "aborted";
    }
    return "unknown status";
}

ballast_attention_status attention_error(ballast_attention_error *error,
                                         ballast_attention_status status, const char *format, ...)
{
    if (!error)
        return status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return status;
}
