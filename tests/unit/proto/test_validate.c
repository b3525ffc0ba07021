/* Every bound from both sides: the value at it is taken, the one beyond it refused by name. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "wire/frame.h"
#include "wire/limits.h"

static char empty[] = "", short_text[] = "s";
static unsigned char digest_bytes[WIRE_DIGEST_BYTES + 1];
static uint32_t totals[WIRE_MAX_CP_RANKS + 2];

/* `bytes` letters; the caller frees. */
static char *letters(size_t bytes)
{
    char *text = malloc(bytes + 1);
    cr_assert_not_null(text);
    memset(text, 'x', bytes);
    text[bytes] = 0;
    return text;
}

/* Encodes and decodes; NULL when taken, else why not. */
static const char *refused(const ProtobufCMessage *message)
{
    size_t count = wire_encoded_bytes(message);
    unsigned char *frame = malloc(count);
    cr_assert_not_null(frame);
    wire_encode(message, frame);
    struct wire_message decoded;
    const char *why = NULL;
    enum wire_status status = wire_decode(frame, count, WIRE_MAX_REPLY_BYTES, &decoded, &why);
    free(frame);
    if (status == WIRE_OK)
        wire_message_free(&decoded);
    else
        cr_expect_eq(status, WIRE_BAD_REQUEST, "%s", why);
    return status == WIRE_OK ? NULL : why;
}

static void expect_taken(const ProtobufCMessage *message)
{
    const char *why = refused(message);
    cr_expect_null(why, "%s", why);
}

static void expect_refused(const ProtobufCMessage *message, const char *field)
{
    const char *why = refused(message);
    cr_expect(why && strncmp(why, field, strlen(field)) == 0, "expected %s, found: %s", field,
              why ? why : "taken");
}

/* The text in *field at its bound and one byte over it. */
static void expect_text_bound(const ProtobufCMessage *message, char **field, size_t bytes,
                              const char *name)
{
    char *kept = *field;
    *field = letters(bytes);
    expect_taken(message);
    free(*field);
    *field = letters(bytes + 1);
    expect_refused(message, name);
    free(*field);
    *field = kept;
}

static Ballast__V1__HelloReply valid_hello_reply(void)
{
    static char *sources[] = { short_text };
    Ballast__V1__HelloReply reply = BALLAST__V1__HELLO_REPLY__INIT;
    reply.job = short_text;
    reply.server = short_text;
    reply.dp = reply.cp = reply.microbatches = 1;
    reply.context_window = reply.max_sequence_length = 8;
    reply.vocab_size = 257;
    reply.token_bytes = 2;
    reply.job_digest = (ProtobufCBinaryData){ WIRE_DIGEST_BYTES, digest_bytes };
    reply.n_sources = 1;
    reply.sources = sources;
    return reply;
}

static Ballast__V1__Batch valid_batch(void)
{
    Ballast__V1__Batch batch = BALLAST__V1__BATCH__INIT;
    batch.digest = (ProtobufCBinaryData){ WIRE_DIGEST_BYTES, digest_bytes };
    batch.parts = 7;
    batch.rank_chunks = totals;
    batch.n_rank_chunks = 3;
    return batch;
}

Test(validate, hello)
{
    Ballast__V1__Rank rank = BALLAST__V1__RANK__INIT;
    Ballast__V1__Hello hello = BALLAST__V1__HELLO__INIT;
    hello.rank = &rank;
    expect_text_bound(&hello.base, &hello.job, WIRE_MAX_NAME_BYTES, "Hello.job");
    expect_text_bound(&hello.base, &hello.client, WIRE_MAX_TEXT_BYTES, "Hello.client");
    rank.dp = rank.cp = rank.pp = rank.tp = UINT32_MAX;
    expect_taken(&hello.base);
    hello.rank = NULL;
    expect_refused(&hello.base, "Hello.rank");
}

Test(validate, hello_reply_texts)
{
    Ballast__V1__HelloReply reply = valid_hello_reply();
    expect_text_bound(&reply.base, &reply.message, WIRE_MAX_MESSAGE_BYTES, "HelloReply.message");
    expect_text_bound(&reply.base, &reply.job, WIRE_MAX_NAME_BYTES, "HelloReply.job");
    expect_text_bound(&reply.base, &reply.server, WIRE_MAX_NAME_BYTES, "HelloReply.server");
    expect_text_bound(&reply.base, reply.sources, WIRE_MAX_NAME_BYTES, "HelloReply.sources");
}

Test(validate, hello_reply_numbers)
{
    Ballast__V1__HelloReply reply = valid_hello_reply();
    expect_taken(&reply.base);
    reply.cp = WIRE_MAX_CP_RANKS;
    expect_taken(&reply.base);
    reply.cp = WIRE_MAX_CP_RANKS + 1;
    expect_refused(&reply.base, "HelloReply.cp");
    reply = valid_hello_reply();
    reply.dp = 65535;
    reply.microbatches = 65537;
    expect_taken(&reply.base);
    reply.dp = 65536;
    expect_refused(&reply.base, "HelloReply.microbatches");
    reply = valid_hello_reply();
    reply.max_sequence_length = reply.context_window - 1;
    expect_refused(&reply.base, "HelloReply.max_sequence_length");
}

Test(validate, token_width_follows_from_the_vocabulary)
{
    static const struct {
        uint32_t vocab_size, token_bytes;
    } good[] = { { 0, 4 }, { 1, 2 }, { 65536, 2 }, { 65537, 4 }, { WIRE_MAX_VOCABULARY, 4 } };
    Ballast__V1__HelloReply reply = valid_hello_reply();
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        reply.vocab_size = good[i].vocab_size;
        reply.token_bytes = good[i].token_bytes;
        expect_taken(&reply.base);
        reply.token_bytes = 6 - good[i].token_bytes;
        expect_refused(&reply.base, "HelloReply.token_bytes");
    }
    reply.vocab_size = WIRE_MAX_VOCABULARY + 1u;
    expect_refused(&reply.base, "HelloReply.vocab_size");
}

/* The largest reply there is must fit its frame and the unpack budget. */
Test(validate, the_largest_hello_reply_fits)
{
    Ballast__V1__HelloReply reply = valid_hello_reply();
    char *name = letters(WIRE_MAX_NAME_BYTES), *why = letters(WIRE_MAX_MESSAGE_BYTES);
    static char *sources[WIRE_MAX_SOURCES + 1];
    for (size_t i = 0; i <= WIRE_MAX_SOURCES; i++)
        sources[i] = name;
    reply.message = why;
    reply.job = reply.server = name;
    reply.dp = reply.cp = 1024;
    reply.microbatches = reply.context_window = reply.max_sequence_length = 1u << 20;
    reply.seed = reply.steps = UINT64_MAX;
    reply.sources = sources;
    reply.n_sources = WIRE_MAX_SOURCES;
    cr_expect_leq(wire_encoded_bytes(&reply.base), WIRE_MAX_REPLY_BYTES);
    expect_taken(&reply.base);
    reply.n_sources++;
    expect_refused(&reply.base, "HelloReply.sources");
    free(name);
    free(why);
}

Test(validate, a_failed_hello_reply_needs_nothing_else)
{
    Ballast__V1__HelloReply reply = BALLAST__V1__HELLO_REPLY__INIT;
    expect_refused(&reply.base, "HelloReply.dp");
    reply.status = WIRE_WRONG_JOB;
    expect_taken(&reply.base);
    reply.status = 12345;
    expect_taken(&reply.base);
}

Test(validate, get_batch)
{
    Ballast__V1__GetBatch get = BALLAST__V1__GET_BATCH__INIT;
    for (get.parts = 0; get.parts < 8; get.parts++)
        expect_taken(&get.base);
    for (unsigned bit = 3; bit < 32; bit++) {
        get.parts = 1u << bit;
        expect_refused(&get.base, "GetBatch.parts");
    }
    get.parts = 7;
    get.deadline_ms = WIRE_MAX_DEADLINE_MS;
    expect_taken(&get.base);
    get.deadline_ms++;
    expect_refused(&get.base, "GetBatch.deadline_ms");
}

Test(validate, digests_are_empty_or_whole)
{
    Ballast__V1__GetBatch get = BALLAST__V1__GET_BATCH__INIT;
    for (size_t bytes = 0; bytes <= WIRE_DIGEST_BYTES + 1; bytes++) {
        get.job_digest = (ProtobufCBinaryData){ bytes, digest_bytes };
        if (bytes == 0 || bytes == WIRE_DIGEST_BYTES)
            expect_taken(&get.base);
        else
            expect_refused(&get.base, "GetBatch.job_digest");
    }
}

Test(validate, batch_counts)
{
    Ballast__V1__Batch batch = valid_batch();
    batch.tokens = batch.padded_tokens = batch.microbatch_tokens = UINT32_MAX;
    batch.microbatch_loss_tokens = UINT32_MAX;
    batch.step_tokens = batch.step_loss_tokens = UINT64_MAX;
    expect_taken(&batch.base);
    batch.padded_tokens--;
    expect_refused(&batch.base, "Batch.tokens");
    batch = valid_batch();
    batch.microbatch_loss_tokens = 1;
    expect_refused(&batch.base, "Batch.microbatch_loss_tokens");
    batch = valid_batch();
    batch.microbatch_tokens = 1;
    expect_refused(&batch.base, "Batch.microbatch_tokens");
    batch = valid_batch();
    batch.step_loss_tokens = 1;
    expect_refused(&batch.base, "Batch.step_loss_tokens");
}

Test(validate, batch_rank_chunks)
{
    Ballast__V1__Batch batch = valid_batch();
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++)
        totals[i] = (uint32_t)i * 4000000u;
    batch.n_rank_chunks = WIRE_MAX_CP_RANKS + 1;
    batch.cp_rank = WIRE_MAX_CP_RANKS - 1;
    expect_taken(&batch.base);
    batch.cp_rank++;
    expect_refused(&batch.base, "Batch.cp_rank");
    batch.n_rank_chunks++;
    expect_refused(&batch.base, "Batch.rank_chunks");
    batch.n_rank_chunks = 1;
    expect_refused(&batch.base, "Batch.rank_chunks");
    batch.n_rank_chunks = 0;
    expect_refused(&batch.base, "Batch.rank_chunks");
    batch.parts = 0;
    expect_taken(&batch.base);
}

Test(validate, rank_chunks_may_stand_still_but_never_fall)
{
    Ballast__V1__Batch batch = valid_batch();
    static uint32_t still[] = { 0, 0, 5, 5 };
    batch.rank_chunks = still;
    batch.n_rank_chunks = 4;
    expect_taken(&batch.base);
    still[3] = 4;
    expect_refused(&batch.base, "Batch.rank_chunks");
    still[3] = 5;
    still[0] = 1;
    expect_refused(&batch.base, "Batch.rank_chunks");
}

Test(validate, any_sharding_is_taken_because_later_versions_add_some)
{
    Ballast__V1__Batch batch = valid_batch();
    batch.sharding = UINT32_MAX;
    expect_taken(&batch.base);
}

Test(validate, a_failed_batch_needs_only_its_request)
{
    Ballast__V1__Batch batch = BALLAST__V1__BATCH__INIT;
    expect_refused(&batch.base, "Batch.digest");
    batch.status = WIRE_END;
    batch.parts = 7;
    expect_taken(&batch.base);
    expect_text_bound(&batch.base, &batch.message, WIRE_MAX_MESSAGE_BYTES, "Batch.message");
    batch.status = 4000000000;
    expect_taken(&batch.base);
}

Test(validate, ack)
{
    Ballast__V1__Ack ack = BALLAST__V1__ACK__INIT;
    expect_refused(&ack.base, "Ack.rank");
    Ballast__V1__Rank rank = BALLAST__V1__RANK__INIT;
    ack.rank = &rank;
    ack.step = UINT64_MAX;
    expect_taken(&ack.base);
}

Test(validate, admin)
{
    static char *arguments[WIRE_MAX_ARGUMENTS + 1];
    for (size_t i = 0; i <= WIRE_MAX_ARGUMENTS; i++)
        arguments[i] = empty;
    Ballast__V1__Admin admin = BALLAST__V1__ADMIN__INIT;
    expect_refused(&admin.base, "Admin.command");
    admin.command = short_text;
    expect_text_bound(&admin.base, &admin.command, WIRE_MAX_NAME_BYTES, "Admin.command");
    admin.arguments = arguments;
    admin.n_arguments = WIRE_MAX_ARGUMENTS;
    expect_taken(&admin.base);
    expect_text_bound(&admin.base, &arguments[3], WIRE_MAX_TEXT_BYTES, "Admin.arguments");
    admin.n_arguments++;
    expect_refused(&admin.base, "Admin.arguments");
}

Test(validate, admin_reply_and_refusal)
{
    Ballast__V1__AdminReply reply = BALLAST__V1__ADMIN_REPLY__INIT;
    expect_text_bound(&reply.base, &reply.message, WIRE_MAX_MESSAGE_BYTES, "AdminReply.message");
    Ballast__V1__Refusal refusal = BALLAST__V1__REFUSAL__INIT;
    expect_refused(&refusal.base, "Refusal.status");
    refusal.status = WIRE_BAD_REQUEST;
    expect_text_bound(&refusal.base, &refusal.message, WIRE_MAX_MESSAGE_BYTES, "Refusal.message");
}
