#include "wire/validate.h"

#include <string.h>

#include "wire/limits.h"

#define PARTS_KNOWN                                                                                \
    ((uint32_t)(BALLAST__V1__PART__PART_PIECES | BALLAST__V1__PART__PART_CHUNKS |                  \
                BALLAST__V1__PART__PART_TOKENS))

/* The first of a list of checks that fails gives the sentence. */
struct check {
    bool passed;
    const char *otherwise;
};

static const char *first_failure(const struct check *checks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!checks[i].passed)
            return checks[i].otherwise;
    return NULL;
}

#define FIRST_FAILURE(checks) first_failure(checks, sizeof(checks) / sizeof *(checks))

static bool fits(const char *text, size_t max_bytes)
{
    return strnlen(text, max_bytes + 1) <= max_bytes;
}

static bool all_fit(char *const *texts, size_t count, size_t max_bytes)
{
    for (size_t i = 0; i < count; i++)
        if (!fits(texts[i], max_bytes))
            return false;
    return true;
}

static bool digest_or_empty(ProtobufCBinaryData digest)
{
    return digest.len == 0 || digest.len == WIRE_DIGEST_BYTES;
}

static const char *validate_hello(const Ballast__V1__Hello *hello)
{
    const struct check checks[] = {
        { fits(hello->job, WIRE_MAX_NAME_BYTES), "Hello.job: longer than 63 bytes" },
        { fits(hello->client, WIRE_MAX_TEXT_BYTES), "Hello.client: longer than 255 bytes" },
        { hello->rank, "Hello.rank: missing" },
    };
    return FIRST_FAILURE(checks);
}

/* 2 bytes hold ids below 65536; 0 means that the vocabulary is not known. */
static uint32_t expected_token_bytes(uint32_t vocab_size)
{
    return vocab_size >= 1 && vocab_size <= 65536 ? 2 : 4;
}

static const char *validate_job(const Ballast__V1__HelloReply *reply)
{
    const struct check checks[] = {
        { reply->dp >= 1, "HelloReply.dp: 0" },
        { reply->cp >= 1 && reply->cp <= WIRE_MAX_CP_RANKS, "HelloReply.cp: not in 1..1024" },
        { reply->microbatches >= 1, "HelloReply.microbatches: 0" },
        { (uint64_t)reply->dp * reply->microbatches <= UINT32_MAX,
          "HelloReply.microbatches: dp x microbatches is above 4294967295" },
        { reply->context_window >= 1, "HelloReply.context_window: 0" },
        { reply->max_sequence_length >= reply->context_window,
          "HelloReply.max_sequence_length: below context_window" },
        { reply->vocab_size <= WIRE_MAX_VOCABULARY, "HelloReply.vocab_size: above 2147483647" },
        { reply->token_bytes == expected_token_bytes(reply->vocab_size),
          "HelloReply.token_bytes: 2 is expected for a vocabulary of 1..65536, else 4" },
        { reply->job_digest.len == WIRE_DIGEST_BYTES, "HelloReply.job_digest: not 16 bytes" },
    };
    return FIRST_FAILURE(checks);
}

static const char *validate_hello_reply(const Ballast__V1__HelloReply *reply)
{
    const struct check checks[] = {
        { fits(reply->message, WIRE_MAX_MESSAGE_BYTES),
          "HelloReply.message: longer than 1023 bytes" },
        { fits(reply->job, WIRE_MAX_NAME_BYTES), "HelloReply.job: longer than 63 bytes" },
        { fits(reply->server, WIRE_MAX_NAME_BYTES), "HelloReply.server: longer than 63 bytes" },
        { digest_or_empty(reply->job_digest), "HelloReply.job_digest: not 16 bytes" },
        { digest_or_empty(reply->ledger_digest), "HelloReply.ledger_digest: not 16 bytes" },
        { reply->until_step == 0 || reply->until_step > reply->from_step,
          "HelloReply.until_step: not above from_step" },
        { reply->n_sources <= WIRE_MAX_SOURCES, "HelloReply.sources: more than 768" },
        { all_fit(reply->sources, reply->n_sources, WIRE_MAX_NAME_BYTES),
          "HelloReply.sources: a name longer than 63 bytes" },
    };
    const char *why = FIRST_FAILURE(checks);
    return why || reply->status != WIRE_OK ? why : validate_job(reply);
}

static const char *validate_get_batch(const Ballast__V1__GetBatch *get)
{
    const struct check checks[] = {
        { !(get->parts & ~PARTS_KNOWN), "GetBatch.parts: unknown bits, 1, 2 and 4 are known" },
        { get->deadline_ms <= WIRE_MAX_DEADLINE_MS, "GetBatch.deadline_ms: above 600000" },
        { digest_or_empty(get->job_digest), "GetBatch.job_digest: neither empty nor 16 bytes" },
    };
    return FIRST_FAILURE(checks);
}

/* Running totals from 0, one more than there are ranks. */
static bool running_totals(const uint32_t *totals, size_t count)
{
    if (count == 0)
        return true;
    if (count < 2 || count > WIRE_MAX_CP_RANKS + 1 || totals[0] != 0)
        return false;
    for (size_t i = 1; i < count; i++)
        if (totals[i] < totals[i - 1])
            return false;
    return true;
}

static const char *validate_content(const Ballast__V1__Batch *batch)
{
    const bool has_chunks = batch->parts & BALLAST__V1__PART__PART_CHUNKS;
    const struct check checks[] = {
        { !(batch->parts & ~PARTS_KNOWN), "Batch.parts: unknown bits, 1, 2 and 4 are known" },
        { batch->digest.len == WIRE_DIGEST_BYTES, "Batch.digest: not 16 bytes" },
        { batch->tokens <= batch->padded_tokens, "Batch.tokens: above padded_tokens" },
        { batch->tokens <= batch->microbatch_tokens, "Batch.tokens: above microbatch_tokens" },
        { batch->microbatch_loss_tokens <= batch->microbatch_tokens,
          "Batch.microbatch_loss_tokens: above microbatch_tokens" },
        { batch->microbatch_tokens <= batch->step_tokens,
          "Batch.microbatch_tokens: above step_tokens" },
        { batch->step_loss_tokens <= batch->step_tokens,
          "Batch.step_loss_tokens: above step_tokens" },
        { running_totals(batch->rank_chunks, batch->n_rank_chunks),
          "Batch.rank_chunks: not 2 to 1025 running totals from 0" },
        { !has_chunks || batch->n_rank_chunks, "Batch.rank_chunks: missing" },
        { !batch->n_rank_chunks || batch->cp_rank < batch->n_rank_chunks - 1,
          "Batch.cp_rank: rank_chunks has no such rank" },
    };
    return FIRST_FAILURE(checks);
}

static const char *validate_batch(const Ballast__V1__Batch *batch)
{
    const struct check checks[] = {
        { fits(batch->message, WIRE_MAX_MESSAGE_BYTES), "Batch.message: longer than 1023 bytes" },
        { digest_or_empty(batch->digest), "Batch.digest: not 16 bytes" },
        { digest_or_empty(batch->job_digest), "Batch.job_digest: not 16 bytes" },
    };
    const char *why = FIRST_FAILURE(checks);
    return why || batch->status != WIRE_OK ? why : validate_content(batch);
}

static const char *validate_ack(const Ballast__V1__Ack *ack)
{
    return ack->rank ? NULL : "Ack.rank: missing";
}

static const char *validate_admin(const Ballast__V1__Admin *admin)
{
    const struct check checks[] = {
        { admin->command[0], "Admin.command: empty" },
        { fits(admin->command, WIRE_MAX_NAME_BYTES), "Admin.command: longer than 63 bytes" },
        { admin->n_arguments <= WIRE_MAX_ARGUMENTS, "Admin.arguments: more than 16" },
        { all_fit(admin->arguments, admin->n_arguments, WIRE_MAX_TEXT_BYTES),
          "Admin.arguments: one is longer than 255 bytes" },
    };
    return FIRST_FAILURE(checks);
}

static const char *validate_admin_reply(const Ballast__V1__AdminReply *reply)
{
    return fits(reply->message, WIRE_MAX_MESSAGE_BYTES)
               ? NULL
               : "AdminReply.message: longer than 1023 bytes";
}

static const char *validate_refusal(const Ballast__V1__Refusal *refusal)
{
    const struct check checks[] = {
        { refusal->status != WIRE_OK, "Refusal.status: OK refuses nothing" },
        { fits(refusal->message, WIRE_MAX_MESSAGE_BYTES),
          "Refusal.message: longer than 1023 bytes" },
    };
    return FIRST_FAILURE(checks);
}

const char *wire_validate(const struct wire_message *message)
{
    switch (message->type) {
    case WIRE_HELLO:
        return validate_hello(message->hello);
    case WIRE_HELLO_REPLY:
        return validate_hello_reply(message->hello_reply);
    case WIRE_GET_BATCH:
        return validate_get_batch(message->get_batch);
    case WIRE_BATCH:
        return validate_batch(message->batch);
    case WIRE_ACK:
        return validate_ack(message->ack);
    case WIRE_ADMIN:
        return validate_admin(message->admin);
    case WIRE_ADMIN_REPLY:
        return validate_admin_reply(message->admin_reply);
    case WIRE_REFUSAL:
        return validate_refusal(message->refusal);
    }
    return "unknown message type";
}
