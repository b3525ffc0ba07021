#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
    char old[ERROR_TEXT_BYTES];
    memcpy(old, err->text, sizeof old);
    va_list args;
    va_start(args, format);
    int used = vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    if (used >= 0 && (size_t)used < sizeof err->text)
        snprintf(err->text + used, sizeof err->text - (size_t)used, ": %s", old);
    return err->code;
}

int error_memory(struct error *err, const char *what)
{
    return error_set(err, EX_OSERR, "out of memory while %s", what);
}
