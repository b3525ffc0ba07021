#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#undef error_set
#undef error_memory

int error_set(struct error *err, int code, const char *format, ...)
{
    if (!err)
        return code;
    va_list args;
    va_start(args, format);
    err->code = code;
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return code;
}

int error_prefix(struct error *err, const char *format, ...)
{
    if (!err)
        return EX_SOFTWARE;
    char prefix[ERROR_TEXT_BYTES], old[ERROR_TEXT_BYTES];
    memcpy(old, err->text, sizeof old);
    va_list args;
    va_start(args, format);
    vsnprintf(prefix, sizeof prefix, format, args);
    va_end(args);
    return error_set(err, err->code, "%s: %s", prefix, old);
}

int error_of_input(int cause)
{
    return cause == ENOMEM || cause == EMFILE || cause == ENFILE ? EX_OSERR : EX_NOINPUT;
}

int error_memory(struct error *err, const char *what)
{
    return error_set(err, EX_OSERR, "out of memory while %s", what);
}
