/* Bytes made to break a decoder: run under the sanitizers, each must come back as a status. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "vectors.h"
#include "wire/frame.h"
#include "wire/limits.h"

/* Decodes a copy that ends where the frame ends, so that a sanitizer sees a read beyond it. */
static enum wire_status decode(const void *frame, size_t count)
{
    unsigned char *copy = malloc(count ? count : 1);
    cr_assert_not_null(copy);
    memcpy(copy, frame, count);
    struct wire_message message = { 0 };
    const char *why = NULL;
    enum wire_status status = wire_decode(copy, count, WIRE_MAX_REPLY_BYTES, &message, &why);
    free(copy);
    cr_assert((status == WIRE_OK) == (why == NULL));
    cr_assert((status == WIRE_OK) == (message.base != NULL));
    wire_message_free(&message);
    return status;
}

/* A frame of `type` whose body repeats `unit` up to `bytes` in all. */
static enum wire_status decode_repeated(enum wire_type type, const void *unit, size_t unit_bytes,
                                        size_t bytes)
{
    unsigned char *frame = malloc(bytes);
    cr_assert_not_null(frame);
    const unsigned char preamble[] = {
        'B', 'L', 'S', 'T', WIRE_VERSION, (unsigned char)type, 0, 0
    };
    memcpy(frame, preamble, sizeof preamble);
    size_t at = sizeof preamble;
    for (; at + unit_bytes <= bytes; at += unit_bytes)
        memcpy(frame + at, unit, unit_bytes);
    enum wire_status status = decode(frame, at);
    free(frame);
    return status;
}

Test(hostile, every_vector_cut_at_every_length)
{
    struct vectors vectors = vectors_read();
    for (size_t i = 0; i < vectors.count; i++)
        for (size_t count = 0; count <= vectors.items[i].count; count++)
            decode(vectors.items[i].bytes, count);
    vectors_fini(&vectors);
}

Test(hostile, every_vector_with_every_bit_turned)
{
    struct vectors vectors = vectors_read();
    size_t taken = 0;
    for (size_t i = 0; i < vectors.count; i++) {
        struct vector *vector = &vectors.items[i];
        for (size_t bit = 0; bit < 8 * vector->count; bit++) {
            unsigned char mask = (unsigned char)(1u << bit % 8);
            vector->bytes[bit / 8] ^= mask;
            taken += decode(vector->bytes, vector->count) == WIRE_OK;
            vector->bytes[bit / 8] ^= mask;
        }
    }
    cr_expect_gt(taken, 0);
    vectors_fini(&vectors);
}

Test(hostile, nested_messages_are_as_deep_as_the_schema)
{
    unsigned char frame[60000] = { 'B', 'L', 'S', 'T', WIRE_VERSION, WIRE_HELLO };
    /* A length-delimited field 3 inside field 3, and so on, each as long as what is left. */
    size_t at = WIRE_PREAMBLE_BYTES;
    while (sizeof frame - at > 4) {
        size_t rest = sizeof frame - at - 4;
        frame[at++] = 0x1a;
        frame[at++] = (unsigned char)(rest & 0x7f) | 0x80;
        frame[at++] = (unsigned char)(rest >> 7 & 0x7f) | 0x80;
        frame[at++] = (unsigned char)(rest >> 14);
    }
    cr_expect_eq(decode(frame, at), WIRE_BAD_REQUEST, "Rank has no field of that wire type");
    /* The same in a field that the schema does not know: skipped as one value. */
    frame[WIRE_PREAMBLE_BYTES] = 0x7a;
    memset(frame + at, 0, sizeof frame - at);
    cr_expect_neq(decode(frame, at), WIRE_TOO_LARGE);
}

Test(hostile, groups_are_refused_however_deep)
{
    static const unsigned char start[] = { 0xa3, 0x06 }, start_known[] = { 0x1b };
    cr_expect_eq(decode_repeated(WIRE_HELLO, start, sizeof start, 60000), WIRE_BAD_REQUEST);
    cr_expect_eq(decode_repeated(WIRE_HELLO, start_known, 1, 60000), WIRE_BAD_REQUEST);
}

Test(hostile, amplification_ends_at_the_budget)
{
    static const unsigned char unknown[] = { 0x78, 0x01 }, empty_text[] = { 0x7a, 0x00 },
                               empty_argument[] = { 0x12, 0x00 };
    cr_expect_eq(decode_repeated(WIRE_GET_BATCH, unknown, 2, WIRE_MAX_REPLY_BYTES), WIRE_TOO_LARGE);
    cr_expect_eq(decode_repeated(WIRE_HELLO_REPLY, empty_text, 2, WIRE_MAX_REPLY_BYTES),
                 WIRE_TOO_LARGE);
    cr_expect_eq(decode_repeated(WIRE_ADMIN, empty_argument, 2, WIRE_MAX_REPLY_BYTES),
                 WIRE_TOO_LARGE);
}

Test(hostile, what_fits_the_budget_is_skipped)
{
    static const unsigned char unknown[] = { 0xf8, 0x06, 0x01 };
    cr_expect_eq(decode_repeated(WIRE_GET_BATCH, unknown, 3, 3000), WIRE_OK);
}

Test(hostile, repeated_texts_do_not_leak)
{
    static const unsigned char job[] = { 0x0a, 0x03, 'j', 'o', 'b' };
    cr_expect_eq(decode_repeated(WIRE_HELLO, job, sizeof job, 4000), WIRE_BAD_REQUEST,
                 "no rank, but the texts before are read");
}

Test(hostile, random_bodies)
{
    unsigned state = 12345;
    for (unsigned round = 0; round < 50000; round++) {
        unsigned char frame[96] = { 'B', 'L', 'S', 'T', WIRE_VERSION };
        frame[5] = (unsigned char)(1 + round % 8);
        size_t count = WIRE_PREAMBLE_BYTES + round / 8 % (sizeof frame - WIRE_PREAMBLE_BYTES);
        for (size_t i = WIRE_PREAMBLE_BYTES; i < count; i++) {
            state = state * 1664525u + 1013904223u;
            frame[i] = (unsigned char)(state >> (state >> 30 ? 24 : 27));
        }
        decode(frame, count);
    }
}
