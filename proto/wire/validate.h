/* Ranges of every field of every message (PROTOCOL.md, Messages). */
#ifndef BALLAST_WIRE_VALIDATE_H
#define BALLAST_WIRE_VALIDATE_H

#include "wire/frame.h"

/*
 * NULL when every field is in its range, else a static sentence that names message, field and what
 * is expected. What depends on the job (is there such a micro-batch?) is the server's to check.
 * After success Hello.rank and Ack.rank are never NULL.
 */
const char *wire_validate(const struct wire_message *message);

#endif
