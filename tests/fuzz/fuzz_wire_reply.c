/*
 * What a client reads from whatever answers at an endpoint: reply headers. The body comes behind
 * the preamble of each reply type in turn, so that no effort goes into guessing eight bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "wire/frame.h"
#include "wire/limits.h"
#include "wire_roundtrip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t types[] = { WIRE_HELLO_REPLY, WIRE_BATCH, WIRE_ADMIN_REPLY, WIRE_REFUSAL };
    wire_roundtrip(data, size, WIRE_MAX_REPLY_BYTES);
    uint8_t *frame = calloc(1, WIRE_PREAMBLE_BYTES + size);
    if (!frame)
        return 0;
    memcpy(frame, "BLST\1", 5);
    if (size)
        memcpy(frame + WIRE_PREAMBLE_BYTES, data, size);
    for (size_t i = 0; i < sizeof types; i++) {
        frame[5] = types[i];
        wire_roundtrip(frame, WIRE_PREAMBLE_BYTES + size, WIRE_MAX_REPLY_BYTES);
    }
    free(frame);
    return 0;
}
