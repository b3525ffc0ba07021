#include "wire/scan.h"

#include <stdbool.h>
#include <stdint.h>

#include "wire/text.h"

struct cursor {
    const unsigned char *at, *end;
};

enum key_type { KEY_VARINT = 0, KEY_FIXED64 = 1, KEY_BYTES = 2, KEY_FIXED32 = 5 };

static size_t left(const struct cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

/* Reads a number of at most 64 bits; false when it is cut off or larger. */
static bool read_varint(struct cursor *cursor, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && left(cursor); shift += 7) {
        unsigned char byte = *cursor->at++;
        if (shift == 63 && byte > 1)
            return false;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

static bool skip(struct cursor *cursor, uint64_t count)
{
    if (count > left(cursor))
        return false;
    cursor->at += count;
    return true;
}

static const char *check_number(const ProtobufCFieldDescriptor *field, uint64_t value)
{
    if (field && field->type == PROTOBUF_C_TYPE_UINT32 && value > UINT32_MAX)
        return "a number in the header is too large for its field";
    return NULL;
}

static const char *check_packed(const ProtobufCFieldDescriptor *field, struct cursor cursor)
{
    while (left(&cursor)) {
        uint64_t value;
        if (!read_varint(&cursor, &value))
            return "a packed number in the header is malformed";
        const char *why = check_number(field, value);
        if (why)
            return why;
    }
    return NULL;
}

/* A field whose value is `body`, by the type that the schema gives it. */
static const char *check_body(const ProtobufCFieldDescriptor *field, struct cursor body)
{
    if (!field)
        return NULL;
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
        return wire_text_valid(body.at, left(&body))
                   ? NULL
                   : "a text in the header is not UTF-8, or holds control characters";
    case PROTOBUF_C_TYPE_MESSAGE:
        return wire_scan(field->descriptor, body.at, left(&body));
    case PROTOBUF_C_TYPE_UINT32:
        return check_packed(field, body);
    default:
        return NULL;
    }
}

/* Reads the value behind a key and checks it; `field` is NULL for an unknown one. */
static const char *scan_value(struct cursor *cursor, uint32_t key_type,
                              const ProtobufCFieldDescriptor *field)
{
    static const char cut_off[] = "the header is cut off inside a field";
    uint64_t value;
    switch (key_type) {
    case KEY_VARINT:
        return read_varint(cursor, &value) ? check_number(field, value) : cut_off;
    case KEY_FIXED64:
        return skip(cursor, 8) ? NULL : cut_off;
    case KEY_FIXED32:
        return skip(cursor, 4) ? NULL : cut_off;
    case KEY_BYTES: {
        if (!read_varint(cursor, &value))
            return cut_off;
        const unsigned char *start = cursor->at;
        if (!skip(cursor, value))
            return cut_off;
        return check_body(field, (struct cursor){ start, cursor->at });
    }
    default:
        return "the header holds a group or an unknown wire type";
    }
}

/*
 * protobuf-c does not merge a message that is given twice as protobuf says it should, so that two
 * readers could understand such a header differently. No writer writes one.
 */
static bool given_twice(const ProtobufCMessageDescriptor *type,
                        const ProtobufCFieldDescriptor *field, uint64_t *given)
{
    if (!field || field->type != PROTOBUF_C_TYPE_MESSAGE ||
        field->label == PROTOBUF_C_LABEL_REPEATED)
        return false;
    const uint64_t bit = UINT64_C(1) << (field - type->fields);
    const bool before = *given & bit;
    *given |= bit;
    return before;
}

const char *wire_scan(const ProtobufCMessageDescriptor *type, const void *bytes, size_t count)
{
    const unsigned char *start = bytes;
    struct cursor cursor = { start, start + count };
    uint64_t key, given = 0;
    while (left(&cursor)) {
        if (!read_varint(&cursor, &key) || key > UINT32_MAX || key >> 3 == 0)
            return "the header holds a malformed field key";
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field(type, (unsigned)(key >> 3));
        if (given_twice(type, field, &given))
            return "the header gives a message inside it twice";
        const char *why = scan_value(&cursor, (uint32_t)(key & 7), field);
        if (why)
            return why;
    }
    return NULL;
}
