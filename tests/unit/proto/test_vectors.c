/* What this build writes and reads is what vectors.txt says, byte by byte. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples.h"
#include "vectors.h"
#include "wire/limits.h"
#include "wire/table.h"

static struct vectors vectors;

static void open_vectors(void)
{
    vectors = vectors_read();
}

static void close_vectors(void)
{
    vectors_fini(&vectors);
}

TestSuite(vectors, .init = open_vectors, .fini = close_vectors);

/* The decoded message, encoded again. The caller frees. */
static unsigned char *again(const struct wire_message *message, size_t *ret_count)
{
    *ret_count = wire_encoded_bytes(message->base);
    unsigned char *bytes = malloc(*ret_count);
    cr_assert_not_null(bytes);
    wire_encode(message->base, bytes);
    return bytes;
}

Test(vectors, every_sample_encodes_to_its_vector)
{
    for (size_t i = 0; i < sample_count; i++) {
        const struct vector *vector = vectors_find(&vectors, "accept", samples[i].name);
        struct wire_message message = { .type = samples[i].type,
                                        .base = (ProtobufCMessage *)samples[i].message };
        size_t count;
        unsigned char *bytes = again(&message, &count);
        cr_expect_eq(count, vector->count, "%s: %zu bytes", samples[i].name, count);
        cr_expect(count == vector->count && memcmp(bytes, vector->bytes, count) == 0, "%s",
                  samples[i].name);
        free(bytes);
    }
}

Test(vectors, every_accepted_vector_has_a_sample_and_survives_a_round_trip)
{
    size_t accepted = 0;
    for (size_t i = 0; i < vectors.count; i++) {
        const struct vector *vector = &vectors.items[i];
        if (strcmp(vector->kind, "accept") != 0)
            continue;
        accepted++;
        struct wire_message message;
        const char *why = "";
        enum wire_status status =
            wire_decode(vector->bytes, vector->count, WIRE_MAX_REPLY_BYTES, &message, &why);
        cr_assert_eq(status, WIRE_OK, "%s: %s", vector->name, why);
        size_t count;
        unsigned char *bytes = again(&message, &count);
        cr_expect(count == vector->count && memcmp(bytes, vector->bytes, count) == 0, "%s",
                  vector->name);
        free(bytes);
        wire_message_free(&message);
    }
    cr_expect_eq(accepted, sample_count);
}

Test(vectors, every_rejected_vector_is_refused_with_its_status)
{
    size_t rejected = 0;
    for (size_t i = 0; i < vectors.count; i++) {
        const struct vector *vector = &vectors.items[i];
        if (strcmp(vector->kind, "reject") != 0)
            continue;
        rejected++;
        struct wire_message message;
        memset(&message, 0x5a, sizeof message);
        const struct wire_message before = message;
        const char *why = NULL;
        enum wire_status status =
            wire_decode(vector->bytes, vector->count, WIRE_MAX_REPLY_BYTES, &message, &why);
        cr_expect_str_eq(wire_status_name(status), vector->extra, "%s", vector->name);
        cr_expect(why && *why, "%s: no reason", vector->name);
        cr_expect_eq(memcmp(&message, &before, sizeof message), 0, "%s: output touched",
                     vector->name);
    }
    cr_expect_geq(rejected, 90);
}

static struct wire_message decode_loose(const char *name)
{
    const struct vector *vector = vectors_find(&vectors, "loose", name);
    struct wire_message message;
    const char *why = "";
    enum wire_status status =
        wire_decode(vector->bytes, vector->count, WIRE_MAX_REQUEST_BYTES, &message, &why);
    cr_assert_eq(status, WIRE_OK, "%s: %s", name, why);
    return message;
}

Test(vectors, unusual_but_valid_encodings_are_read)
{
    static const char *const names[] = { "unknown_fields", "defaults_spelled_out",
                                         "fields_out_of_order", "unknown_bytes_not_text" };
    static const uint64_t requests[] = { 7, 0, 7, 0 }, steps[] = { 0, 0, 300, 0 };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct wire_message message = decode_loose(names[i]);
        cr_expect_eq(message.get_batch->request, requests[i], "%s", names[i]);
        cr_expect_eq(message.get_batch->step, steps[i], "%s", names[i]);
        wire_message_free(&message);
    }
}

Test(vectors, the_last_of_a_repeated_scalar_wins)
{
    struct wire_message message = decode_loose("given_twice");
    cr_expect_eq(message.get_batch->step, 300);
    wire_message_free(&message);
    message = decode_loose("long_varint");
    cr_expect_eq(message.get_batch->step, 300);
    wire_message_free(&message);
}

Test(vectors, unknown_fields_inside_a_message_are_skipped)
{
    struct wire_message message = decode_loose("unknown_in_rank");
    cr_expect_eq(message.hello->rank->dp, 1);
    wire_message_free(&message);
}

Test(vectors, repeated_numbers_may_be_unpacked)
{
    struct wire_message message = decode_loose("rank_chunks_unpacked");
    cr_assert_eq(message.batch->n_rank_chunks, 3);
    cr_expect_eq(message.batch->rank_chunks[1], 3);
    cr_expect_eq(message.batch->rank_chunks[2], 5);
    wire_message_free(&message);
}

Test(vectors, checksums_are_xxh3_64)
{
    size_t frames = 0;
    for (size_t i = 0; i < vectors.count; i++) {
        const struct vector *vector = &vectors.items[i];
        if (strcmp(vector->kind, "frame") != 0)
            continue;
        frames++;
        char text[17];
        snprintf(text, sizeof text, "%016" PRIx64, wire_checksum(vector->bytes, vector->count));
        cr_expect_str_eq(text, vector->extra, "%s", vector->name);
    }
    cr_expect_eq(frames, 4);
}

Test(vectors, tables_lie_in_memory_as_on_the_wire)
{
    static const struct wire_piece pieces[] = {
        { .document = 123, .arrived = 300, .length = 5, .flags = WIRE_PIECE_ENDS_DOCUMENT },
        { .document = 9, .offset = 4096, .arrived = 298, .length = 3, .source = 1 },
    };
    static const struct wire_chunk chunks[] = {
        { 0, 0, 1 }, { 0, 3, 2 }, { 1, 0, 1 }, { 0, 1, 2 }, { 1, 1, 2 },
    };
    static const uint16_t tokens[] = { 11, 12, 14, 15, 0, 21, 22 };
    const struct vector *vector = vectors_find(&vectors, "frame", "pieces");
    cr_assert_eq(vector->count, sizeof pieces);
    cr_expect_eq(memcmp(pieces, vector->bytes, sizeof pieces), 0);
    vector = vectors_find(&vectors, "frame", "chunks");
    cr_assert_eq(vector->count, sizeof chunks);
    cr_expect_eq(memcmp(chunks, vector->bytes, sizeof chunks), 0);
    vector = vectors_find(&vectors, "frame", "tokens");
    cr_assert_eq(vector->count, sizeof tokens);
    cr_expect_eq(memcmp(tokens, vector->bytes, sizeof tokens), 0);
}
