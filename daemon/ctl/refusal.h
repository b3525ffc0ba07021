/* Which exit status a protocol status deserves. */
#ifndef BALLAST_CTL_REFUSAL_H
#define BALLAST_CTL_REFUSAL_H

#include <stdint.h>

/*
 * A sysexits code for a status that is not OK: EX_UNAVAILABLE where asking again may help, EX_USAGE
 * where the job has nothing of the kind that was asked for, EX_DATAERR and EX_IOERR for shards.
 */
int refusal_exit_code(uint32_t status);

#endif
