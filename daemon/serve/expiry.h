/* The date until which a key is good. Pure. */
#ifndef BALLAST_SERVE_EXPIRY_H
#define BALLAST_SERVE_EXPIRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads 2027-01-31, the whole day, or 2027-01-31T12:00:00Z, both UTC and of the years 1970 to 9999.
 * *ret_last_second is the last second, since 1970, that belongs to it. False, and untouched, for
 * anything else, days that no month has included.
 */
bool expiry_parse(const char *text, size_t bytes, int64_t *ret_last_second);

#endif
