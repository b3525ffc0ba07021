/* What must hold for any bytes that look like a header frame. */
#ifndef BALLAST_TESTS_WIRE_ROUNDTRIP_H
#define BALLAST_TESTS_WIRE_ROUNDTRIP_H

#include <stddef.h>
#include <stdint.h>

/*
 * Decodes a frame of at most `max_bytes`. Refused, it must say why; taken, it must encode to a
 * frame that is taken too and encodes to the same bytes again. Traps when it does not.
 */
void wire_roundtrip(const uint8_t *frame, size_t bytes, size_t max_bytes);

#endif
