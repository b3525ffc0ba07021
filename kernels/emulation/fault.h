/*
 * What kernels did wrong, collected over launches until it is cleared. Any fault makes the stream
 * answer cudaErrorLaunchFailure, as devices do where they notice at all. Thread-safe.
 */
#ifndef BALLAST_KERNELS_EMULATION_FAULT_H
#define BALLAST_KERNELS_EMULATION_FAULT_H

#ifdef __cplusplus
extern "C" {
#endif

enum emulation_fault {
    EMULATION_RACE,          /* accesses of shared memory that no barrier or wait orders */
    EMULATION_IN_FLIGHT,     /* shared memory touched while an asynchronous copy is on its way */
    EMULATION_UNINITIALISED, /* read before anything was written */
    EMULATION_OUT_OF_BOUNDS, /* outside shared memory or every allocation of global memory */
    EMULATION_MISALIGNED,
    EMULATION_DIVERGENT, /* threads that had to come together did not */
    EMULATION_STUCK,     /* nothing can go on */
    EMULATION_LEFTOVER,  /* a thread ended with copies that it never waited for */
    EMULATION_PROXY,     /* shared memory used by another proxy without a fence between */
    EMULATION_MISUSE,    /* an instruction with operands that it does not take */
    EMULATION_FAULTS
};

/* How many of a kind, and of all kinds. */
long emulation_fault_count(enum emulation_fault kind);
long emulation_faults(void);

/* "race"; static. */
const char *emulation_fault_name(enum emulation_fault kind);

/*
 * The distinct faults, a line each with how often, as one text that stays until the next call in
 * this thread.
 */
const char *emulation_fault_text(void);

void emulation_clear_faults(void);

#ifdef __cplusplus
}

#include "kernels/emulation/where.h"

namespace emulation
{

/*
 * Notes a fault of the running thread at a line. `format` tells what happened; the text begins with
 * the place. Faults of a kind at one line are one, however often they come.
 */
__attribute__((format(printf, 3, 4))) void report(emulation_fault kind, const where &at,
                                                  const char *format, ...);

} // namespace emulation
#endif

#endif
