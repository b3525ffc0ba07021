/* Text that may stand in a header: at most WIRE_MAX_TEXT_BYTES of valid UTF-8. */
#ifndef BALLAST_SERVE_REPLY_TEXT_H
#define BALLAST_SERVE_REPLY_TEXT_H

#include "wire/limits.h"

/* Copies `from`, cut at a character's edge, with '?' for bytes that are no UTF-8; returns `text`.
 * Error texts quote paths, and a path may hold any bytes. */
char *reply_text(char text[WIRE_MAX_TEXT_BYTES + 1], const char *from);

#endif
