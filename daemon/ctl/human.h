/* Numbers as a person reads them. A function with `text` writes into it and returns it. */
#ifndef BALLAST_CTL_HUMAN_H
#define BALLAST_CTL_HUMAN_H

#include <stdint.h>

#define HUMAN_BYTES 32

/* "5,000,814" */
const char *human_count(uint64_t count, char text[HUMAN_BYTES]);

/* "512 B", "64.0 KiB", "1.5 GiB" */
const char *human_bytes(uint64_t bytes, char text[HUMAN_BYTES]);

/* "s" for every count but one. */
const char *human_plural(uint64_t count);

/* "850 ms", "12 s", "3 min 20 s", "2 h 13 min", "3 d 4 h" */
const char *human_duration(uint64_t milliseconds, char text[HUMAN_BYTES]);

#endif
