/* The one status table of the protocol, generated from status.def. */
#ifndef BALLAST_WIRE_STATUS_H
#define BALLAST_WIRE_STATUS_H

#include <stdbool.h>
#include <stdint.h>

enum wire_status {
#define STATUS(name, number, retryable, text) WIRE_##name = (number),
#include "wire/status.def"
#undef STATUS
};

/* "END"; "UNKNOWN" for a number that is not in the table. */
const char *wire_status_name(uint32_t status);

/* One sentence for a person. */
const char *wire_status_text(uint32_t status);

/* May the same request succeed later, or at another daemon? */
bool wire_status_retryable(uint32_t status);

#endif
