/* Time for deadlines, progress and measurements. */
#ifndef BALLAST_CTL_CLOCK_H
#define BALLAST_CTL_CLOCK_H

#include <stdint.h>

/* Milliseconds on a clock that only goes forward. */
uint64_t clock_ms(void);

/* Nanoseconds on the same. */
uint64_t clock_ns(void);

#endif
