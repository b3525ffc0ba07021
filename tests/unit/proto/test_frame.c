/* The preamble, sizes, ownership. What the bytes mean is in test_vectors.c. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "samples.h"
#include "wire/limits.h"

#define FRAME_BYTES 1024

static size_t encode_sample(size_t index, unsigned char frame[static FRAME_BYTES])
{
    size_t count = wire_encoded_bytes(samples[index].message);
    cr_assert_leq(count, FRAME_BYTES);
    wire_encode(samples[index].message, frame);
    return count;
}

Test(frame, type_and_version_stand_in_the_preamble)
{
    for (size_t i = 0; i < sample_count; i++) {
        unsigned char frame[FRAME_BYTES];
        encode_sample(i, frame);
        const unsigned char expected[WIRE_PREAMBLE_BYTES] = {
            'B', 'L', 'S', 'T', WIRE_VERSION, (unsigned char)samples[i].type, 0, 0
        };
        cr_expect_eq(memcmp(frame, expected, sizeof expected), 0, "%s", samples[i].name);
    }
}

Test(frame, encode_writes_exactly_the_bytes_it_announces)
{
    for (size_t i = 0; i < sample_count; i++) {
        size_t count = wire_encoded_bytes(samples[i].message);
        unsigned char frame[FRAME_BYTES];
        memset(frame, 0xee, sizeof frame);
        wire_encode(samples[i].message, frame);
        for (size_t at = count; at < sizeof frame; at++)
            cr_assert_eq(frame[at], 0xee, "%s", samples[i].name);
    }
}

Test(frame, decode_says_which_message_it_is)
{
    for (size_t i = 0; i < sample_count; i++) {
        unsigned char frame[FRAME_BYTES];
        size_t count = encode_sample(i, frame);
        struct wire_message message;
        const char *why;
        cr_assert_eq(wire_decode(frame, count, count, &message, &why), WIRE_OK);
        cr_expect_eq(message.type, samples[i].type, "%s", samples[i].name);
        cr_expect_eq(message.base->descriptor, samples[i].message->descriptor);
        wire_message_free(&message);
        cr_expect_null(message.base);
        wire_message_free(&message);
    }
    wire_message_free(NULL);
}

Test(frame, one_byte_over_the_limit_is_too_large)
{
    for (size_t i = 0; i < sample_count; i++) {
        unsigned char frame[FRAME_BYTES];
        size_t count = encode_sample(i, frame);
        struct wire_message message = { 0 };
        const char *why = NULL;
        cr_expect_eq(wire_decode(frame, count, count - 1, &message, &why), WIRE_TOO_LARGE);
        cr_expect_null(message.base);
        cr_expect_not_null(why);
    }
}

Test(frame, size_is_checked_before_a_byte_is_read)
{
    struct wire_message message;
    const char *why;
    cr_expect_eq(wire_decode(NULL, (size_t)6 << 30, WIRE_MAX_REQUEST_BYTES, &message, &why),
                 WIRE_TOO_LARGE);
    cr_expect_eq(wire_decode(NULL, 0, WIRE_MAX_REQUEST_BYTES, &message, &why), WIRE_BAD_REQUEST);
}

/* Magic and version are read before anything that a later version might change. */
Test(frame, only_magic_and_version_decide_on_bad_version)
{
    struct wire_message message;
    const char *why;
    for (unsigned version = 0; version < 256; version++) {
        const unsigned char frame[] = { 'B', 'L', 'S', 'T', (unsigned char)version, 200, 1, 1, 7 };
        enum wire_status expected = version == WIRE_VERSION ? WIRE_BAD_REQUEST : WIRE_BAD_VERSION;
        cr_expect_eq(wire_decode(frame, sizeof frame, 100, &message, &why), expected);
    }
}

Test(frame, empty_texts_and_digests_decode_to_empty_never_to_null)
{
    const unsigned char frame[] = { 'B', 'L', 'S', 'T', 1, WIRE_HELLO, 0, 0, 0x1a, 0 };
    struct wire_message message;
    const char *why;
    cr_assert_eq(wire_decode(frame, sizeof frame, 100, &message, &why), WIRE_OK);
    cr_expect_str_eq(message.hello->job, "");
    cr_expect_str_eq(message.hello->client, "");
    cr_expect_not_null(message.hello->rank);
    wire_message_free(&message);
}
