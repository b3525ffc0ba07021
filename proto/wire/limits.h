/* Bounds of the protocol (PROTOCOL.md, Limits). Whatever exceeds one is refused before it is read.
 */
#ifndef BALLAST_WIRE_LIMITS_H
#define BALLAST_WIRE_LIMITS_H

#define WIRE_MAX_REQUEST_BYTES 4096u     /* header frame of a request, preamble included */
#define WIRE_MAX_REPLY_BYTES (64u << 10) /* header frame of a reply, preamble included */
#define WIRE_UNPACK_BUDGET (256u << 10)  /* bytes that unpacking one header may allocate */
#define WIRE_MAX_FRAMES 4u               /* header, pieces, chunks, tokens */
#define WIRE_MAX_TEXT_BYTES 255u         /* any string in a header */
#define WIRE_MAX_DEADLINE_MS (10u * 60u * 1000u)

#endif
