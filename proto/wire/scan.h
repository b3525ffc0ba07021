/*
 * What must be checked in the bytes, because protobuf-c loses it: the length of a string (so a NUL
 * inside would cut it) and the upper half of a number too large for its field.
 */
#ifndef BALLAST_WIRE_SCAN_H
#define BALLAST_WIRE_SCAN_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

/*
 * Walks a packed message of type `type`, and the messages inside it, without allocating. Returns
 * NULL when it is well formed, else a static sentence. Unknown fields are skipped; groups are
 * refused. Its depth is that of the schema, which is not recursive, whatever the bytes are.
 */
const char *wire_scan(const ProtobufCMessageDescriptor *type, const void *bytes, size_t count);

#endif
