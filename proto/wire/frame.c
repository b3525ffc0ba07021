#include "wire/frame.h"

#include <string.h>

#include "wire/budget.h"
#include "wire/limits.h"
#include "wire/scan.h"
#include "wire/validate.h"

static const unsigned char magic[4] = { 'B', 'L', 'S', 'T' };

/* The message behind each type number. */
static const ProtobufCMessageDescriptor *const descriptors[] = {
    [WIRE_HELLO] = &ballast__v1__hello__descriptor,
    [WIRE_HELLO_REPLY] = &ballast__v1__hello_reply__descriptor,
    [WIRE_GET_BATCH] = &ballast__v1__get_batch__descriptor,
    [WIRE_BATCH] = &ballast__v1__batch__descriptor,
    [WIRE_ACK] = &ballast__v1__ack__descriptor,
    [WIRE_ADMIN] = &ballast__v1__admin__descriptor,
    [WIRE_ADMIN_REPLY] = &ballast__v1__admin_reply__descriptor,
    [WIRE_REFUSAL] = &ballast__v1__refusal__descriptor,
};

#define TYPE_COUNT (sizeof descriptors / sizeof *descriptors)

static enum wire_status refuse(enum wire_status status, const char *why, const char **ret_why)
{
    *ret_why = why;
    return status;
}

static enum wire_status check_preamble(const unsigned char *frame, size_t bytes, size_t max_bytes,
                                       const char **ret_why)
{
    if (bytes > max_bytes)
        return refuse(WIRE_TOO_LARGE, "the header frame is larger than the limit", ret_why);
    if (bytes < WIRE_PREAMBLE_BYTES)
        return refuse(WIRE_BAD_REQUEST, "the header frame is shorter than its preamble", ret_why);
    if (memcmp(frame, magic, sizeof magic) != 0)
        return refuse(WIRE_BAD_REQUEST, "the header frame does not begin with BLST", ret_why);
    if (frame[4] != WIRE_VERSION)
        return refuse(WIRE_BAD_VERSION, "protocol version 1 is spoken here", ret_why);
    if (frame[5] >= TYPE_COUNT || !descriptors[frame[5]])
        return refuse(WIRE_BAD_REQUEST, "unknown message type", ret_why);
    if (frame[6] != 0 || frame[7] != 0)
        return refuse(WIRE_BAD_REQUEST, "bytes 6 and 7 of the preamble are not zero", ret_why);
    return WIRE_OK;
}

/* Unpacks bytes that wire_scan has found well formed. */
static enum wire_status unpack(const ProtobufCMessageDescriptor *descriptor,
                               const unsigned char *bytes, size_t count,
                               ProtobufCMessage **ret_message, const char **ret_why)
{
    struct wire_budget budget = { .left = WIRE_UNPACK_BUDGET };
    ProtobufCAllocator allocator = wire_budget_allocator(&budget);
    *ret_message = protobuf_c_message_unpack(descriptor, &allocator, count, bytes);
    if (*ret_message)
        return WIRE_OK;
    if (budget.starved)
        return refuse(WIRE_BUSY, "out of memory, ask again", ret_why);
    if (budget.exhausted)
        return refuse(WIRE_TOO_LARGE, "unpacking the header takes more memory than it may",
                      ret_why);
    return refuse(WIRE_BAD_REQUEST, "the header holds a field of the wrong type", ret_why);
}

enum wire_status wire_decode(const void *frame, size_t bytes, size_t max_bytes,
                             struct wire_message *ret_message, const char **ret_why)
{
    const unsigned char *start = frame;
    enum wire_status status = check_preamble(start, bytes, max_bytes, ret_why);
    if (status != WIRE_OK)
        return status;
    struct wire_message message = { .type = start[5] };
    const ProtobufCMessageDescriptor *descriptor = descriptors[message.type];
    const unsigned char *body = start + WIRE_PREAMBLE_BYTES;
    size_t body_bytes = bytes - WIRE_PREAMBLE_BYTES;

    const char *why = wire_scan(descriptor, body, body_bytes);
    if (why)
        return refuse(WIRE_BAD_REQUEST, why, ret_why);
    status = unpack(descriptor, body, body_bytes, &message.base, ret_why);
    if (status != WIRE_OK)
        return status;
    why = wire_validate(&message);
    if (why) {
        wire_message_free(&message);
        return refuse(WIRE_BAD_REQUEST, why, ret_why);
    }
    *ret_message = message;
    return WIRE_OK;
}

void wire_message_free(struct wire_message *message)
{
    if (!message)
        return;
    protobuf_c_message_free_unpacked(message->base, NULL);
    *message = (struct wire_message){ 0 };
}

size_t wire_encoded_bytes(const ProtobufCMessage *message)
{
    return WIRE_PREAMBLE_BYTES + protobuf_c_message_get_packed_size(message);
}

static unsigned char type_of(const ProtobufCMessage *message)
{
    for (size_t type = 1; type < TYPE_COUNT; type++)
        if (descriptors[type] == message->descriptor)
            return (unsigned char)type;
    return 0;
}

void wire_encode(const ProtobufCMessage *message, void *frame)
{
    unsigned char *at = frame;
    memcpy(at, magic, sizeof magic);
    at[4] = WIRE_VERSION;
    at[5] = type_of(message);
    at[6] = at[7] = 0;
    protobuf_c_message_pack(message, at + WIRE_PREAMBLE_BYTES);
}
