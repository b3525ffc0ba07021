#include "wire_roundtrip.h"

#include <stdlib.h>
#include <string.h>

#include "wire/frame.h"

/* A repeated number that came alone, unpacked, takes a byte or two more when it is packed. */
#define PACKING_BYTES 8u

static void require(int condition)
{
    if (!condition)
        __builtin_trap();
}

/* The caller frees. */
static uint8_t *encode(const struct wire_message *message, size_t *ret_bytes)
{
    *ret_bytes = wire_encoded_bytes(message->base);
    uint8_t *frame = malloc(*ret_bytes);
    require(frame != NULL);
    wire_encode(message->base, frame);
    return frame;
}

void wire_roundtrip(const uint8_t *frame, size_t bytes, size_t max_bytes)
{
    struct wire_message first = { 0 }, second = { 0 };
    const char *why = NULL;
    if (wire_decode(frame, bytes, max_bytes, &first, &why) != WIRE_OK) {
        require(why && *why && !first.base);
        return;
    }
    size_t once_bytes, twice_bytes;
    uint8_t *once = encode(&first, &once_bytes);
    require(once_bytes <= bytes + PACKING_BYTES);
    require(wire_decode(once, once_bytes, max_bytes + PACKING_BYTES, &second, &why) == WIRE_OK);
    require(second.type == first.type);
    uint8_t *twice = encode(&second, &twice_bytes);
    require(twice_bytes == once_bytes && memcmp(once, twice, once_bytes) == 0);
    free(once);
    free(twice);
    wire_message_free(&first);
    wire_message_free(&second);
}
