#include "facts.h"

#include <stdio.h>
#include <string.h>

#include "wire/limits.h"
#include "wire/table.h"

struct facts facts_from(const Ballast__V1__HelloReply *reply)
{
    struct facts facts = {
        .job = { .dp = reply->dp,
                 .cp = reply->cp,
                 .microbatches = reply->microbatches,
                 .context_window = reply->context_window,
                 .max_sequence_length = reply->max_sequence_length,
                 .vocab_size = reply->vocab_size,
                 .seed = reply->seed,
                 .steps = reply->steps,
                 .from_step = reply->from_step,
                 .until_step = reply->until_step },
        .token_bytes = reply->token_bytes,
        .source_count = (uint32_t)reply->n_sources,
        .ledger_entries = reply->ledger_entries,
    };
    snprintf(facts.job.name, sizeof facts.job.name, "%s", reply->job);
    snprintf(facts.job.server, sizeof facts.job.server, "%s", reply->server);
    snprintf(facts.changes, sizeof facts.changes, "%s", reply->message);
    memcpy(facts.job.digest, reply->job_digest.data, BALLAST_DIGEST_BYTES);
    if (reply->ledger_digest.len == BALLAST_DIGEST_BYTES)
        memcpy(facts.ledger_digest, reply->ledger_digest.data, BALLAST_DIGEST_BYTES);
    return facts;
}

bool facts_same_ledger(const struct facts *a, const struct facts *b)
{
    return a->ledger_entries == b->ledger_entries &&
           memcmp(a->ledger_digest, b->ledger_digest, BALLAST_DIGEST_BYTES) == 0;
}

bool facts_agree(const struct facts *a, const struct facts *b)
{
    return a->job.dp == b->job.dp && a->job.cp == b->job.cp &&
           a->job.microbatches == b->job.microbatches &&
           a->job.max_sequence_length == b->job.max_sequence_length &&
           a->job.vocab_size == b->job.vocab_size && a->token_bytes == b->token_bytes;
}

int64_t facts_max_frame_bytes(const struct facts *facts)
{
    int64_t tables = (int64_t)facts->job.max_sequence_length * (int64_t)sizeof(struct wire_piece);
    int64_t bytes = tables > WIRE_MAX_REPLY_BYTES ? tables : WIRE_MAX_REPLY_BYTES;
    return bytes < FACTS_MAX_FRAME_BYTES ? bytes : FACTS_MAX_FRAME_BYTES;
}
