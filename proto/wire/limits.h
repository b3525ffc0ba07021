/* Bounds of the protocol (PROTOCOL.md, Limits). Whatever exceeds one is refused before it is read.
 */
#ifndef BALLAST_WIRE_LIMITS_H
#define BALLAST_WIRE_LIMITS_H

#define WIRE_MAX_REQUEST_BYTES 4096u     /* header frame of a request, preamble included */
#define WIRE_MAX_REPLY_BYTES (64u << 10) /* header frame of a reply, preamble included */
#define WIRE_UNPACK_BUDGET (256u << 10)  /* bytes that unpacking one header may allocate */
#define WIRE_MAX_FRAMES 4u               /* header, pieces, chunks, tokens */
#define WIRE_MAX_TEXT_BYTES 255u         /* any string in a header that has no bound of its own */
#define WIRE_MAX_NAME_BYTES 63u          /* names: of a job, a server, a source */
#define WIRE_MAX_MESSAGE_BYTES 1023u     /* `message`: why a status is not OK */
#define WIRE_MAX_SOURCES 768u            /* so that HelloReply fits WIRE_MAX_REPLY_BYTES */
#define WIRE_MAX_ARGUMENTS 16u           /* of an admin command */
#define WIRE_MAX_CP_RANKS 1024u
#define WIRE_DIGEST_BYTES 16u
#define WIRE_MAX_VOCABULARY 0x7fffffffu /* token ids fit int32_t */
#define WIRE_MAX_DEADLINE_MS (10u * 60u * 1000u)

#endif
