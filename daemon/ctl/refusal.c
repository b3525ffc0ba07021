#include "ctl/refusal.h"

#include <sysexits.h>

#include "wire/status.h"

int refusal_exit_code(uint32_t status)
{
    switch (status) {
    case WIRE_END:
    case WIRE_OUT_OF_RANGE:
    case WIRE_BAD_REQUEST:
    case WIRE_UNKNOWN_COMMAND:
        return EX_USAGE;
    case WIRE_BAD_DATA:
    case WIRE_NO_TOKENS:
        return EX_DATAERR;
    case WIRE_IO_ERROR:
        return EX_IOERR;
    case WIRE_INTERNAL:
        return EX_SOFTWARE;
    case WIRE_DENIED:
        return EX_NOPERM;
    case WIRE_WRONG_JOB:
        return EX_CONFIG;
    default:
        return EX_UNAVAILABLE;
    }
}
