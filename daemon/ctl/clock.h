/* Time for deadlines and progress. */
#ifndef BALLAST_CTL_CLOCK_H
#define BALLAST_CTL_CLOCK_H

#include <stdint.h>

/* Milliseconds on a clock that only goes forward. */
uint64_t clock_ms(void);

#endif
