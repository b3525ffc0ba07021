#include "wire/status.h"

#include <stddef.h>

struct row {
    const char *name, *text;
    bool retryable;
};

static const struct row rows[] = {
#define STATUS(name, number, retryable, text) [number] = { #name, text, retryable },
#include "wire/status.def"
#undef STATUS
};

static const struct row *row_of(uint32_t status)
{
    static const struct row unknown = { "UNKNOWN", "a status this version does not know", false };
    return status < sizeof rows / sizeof *rows ? &rows[status] : &unknown;
}

const char *wire_status_name(uint32_t status)
{
    return row_of(status)->name;
}

const char *wire_status_text(uint32_t status)
{
    return row_of(status)->text;
}

bool wire_status_retryable(uint32_t status)
{
    return row_of(status)->retryable;
}
