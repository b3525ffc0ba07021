/*
 * The header frame: an 8-byte preamble and one protobuf message (PROTOCOL.md, Framing).
 *
 *   offset  size  field
 *        0     4  'B' 'L' 'S' 'T'
 *        4     1  protocol version
 *        5     1  message type
 *        6     2  zero
 *        8        protobuf message of that type
 *
 * Decoding is safe on hostile bytes: size capped before unpack, allocation by a budget, every field
 * validated. Nothing here keeps state; any thread.
 */
#ifndef BALLAST_WIRE_FRAME_H
#define BALLAST_WIRE_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "ballast/v1/ballast.pb-c.h"
#include "wire/status.h"

#define WIRE_VERSION 1
#define WIRE_PREAMBLE_BYTES 8

enum wire_type {
    WIRE_HELLO = 1,
    WIRE_HELLO_REPLY = 2,
    WIRE_GET_BATCH = 3,
    WIRE_BATCH = 4,
    WIRE_ACK = 5,
    WIRE_ADMIN = 6,
    WIRE_ADMIN_REPLY = 7,
    WIRE_REFUSAL = 8,
};

/* A decoded header. Which member is set follows from `type`. */
struct wire_message {
    enum wire_type type;
    union {
        ProtobufCMessage *base;
        Ballast__V1__Hello *hello;
        Ballast__V1__HelloReply *hello_reply;
        Ballast__V1__GetBatch *get_batch;
        Ballast__V1__Batch *batch;
        Ballast__V1__Ack *ack;
        Ballast__V1__Admin *admin;
        Ballast__V1__AdminReply *admin_reply;
        Ballast__V1__Refusal *refusal;
    };
};

/*
 * Decodes and validates a header frame of at most `max_bytes`. Returns WIRE_OK and fills
 * *ret_message, which the caller frees with wire_message_free; or WIRE_BAD_REQUEST,
 * WIRE_BAD_VERSION or WIRE_TOO_LARGE, *ret_message untouched and *ret_why a static sentence.
 * Texts are then UTF-8 without control characters, digests 0 or 16 bytes, Hello.rank and Ack.rank
 * not NULL. Whether the type is one that may arrive here is the caller's to check.
 */
enum wire_status wire_decode(const void *frame, size_t bytes, size_t max_bytes,
                             struct wire_message *ret_message, const char **ret_why);

/* NULL-safe on a zeroed message; zeroes it. */
void wire_message_free(struct wire_message *message);

/* Bytes of the header frame for `message`. */
size_t wire_encoded_bytes(const ProtobufCMessage *message);

/* Writes wire_encoded_bytes(message) bytes into `frame`. The type follows from the message. */
void wire_encode(const ProtobufCMessage *message, void *frame);

#endif
