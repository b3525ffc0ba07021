/* Text that may stand in a header as `message`: bounded, UTF-8, without control characters. */
#ifndef BALLAST_SERVE_REPLY_TEXT_H
#define BALLAST_SERVE_REPLY_TEXT_H

#include "wire/limits.h"

/*
 * Copies `from`, cut at a character's edge, with '?' for whatever is not allowed; returns `text`.
 * Error texts quote paths, and a path may hold any bytes.
 */
char *reply_text(char text[WIRE_MAX_MESSAGE_BYTES + 1], const char *from);

#endif
