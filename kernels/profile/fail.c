#include "kernels/profile/fail.h"

#include <stdarg.h>
#include <stdio.h>

int profile_fail(ballast_attention_error *error, int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return code;
}
