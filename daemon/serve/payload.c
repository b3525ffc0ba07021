#include "serve/payload.h"

#include <stdlib.h>
#include <string.h>

#include "wire/table.h"

size_t payload_bytes(const struct step_plan *plan, uint32_t microbatch, uint32_t rank,
                     unsigned token_bytes)
{
    const struct cp_rank *share = step_plan_rank(plan, microbatch, rank);
    return ((size_t)share->tokens + share->count) * token_bytes;
}

/* The chunk's tokens and the document's next one; returns the end of what was written. */
static unsigned char *copy_chunk(const struct corpus *corpus, const struct piece *piece,
                                 const struct chunk *chunk, unsigned char *at, struct error *err)
{
    uint64_t end = (uint64_t)chunk->start + chunk->length;
    bool last = end == piece->length && (piece->flags & PIECE_ENDS_DOCUMENT);
    uint32_t count = chunk->length + (last ? 0 : 1);
    if (corpus_read(corpus, piece->source, piece->document, piece->offset + chunk->start, count, at,
                    err))
        return NULL;
    at += (size_t)count * corpus->token_bytes;
    if (last) {
        memset(at, 0, corpus->token_bytes);
        at += corpus->token_bytes;
    }
    return at;
}

static int copy_tokens(const struct corpus *corpus, const struct step_plan *plan,
                       uint32_t microbatch, uint32_t rank, unsigned char *at, struct piece *ret_bad,
                       struct error *err)
{
    const struct plan_microbatch *batch = &plan->microbatches[microbatch];
    const struct cp_rank *share = step_plan_rank(plan, microbatch, rank);
    const struct piece *pieces = plan->pieces + batch->first_piece;
    const struct chunk *chunks = plan->chunks + batch->first_chunk + share->first;
    for (uint32_t i = 0; i < share->count; i++) {
        const struct piece *piece = &pieces[chunks[i].piece];
        at = copy_chunk(corpus, piece, &chunks[i], at, err);
        if (at)
            continue;
        *ret_bad = *piece;
        return error_prefix(err, "step %llu, micro-batch %u", (unsigned long long)plan->step,
                            microbatch);
    }
    return 0;
}

int payload_gather(const struct corpus *corpus, const struct step_plan *plan, uint32_t microbatch,
                   uint32_t rank, struct payload **ret_payload, struct piece *ret_bad,
                   struct error *err)
{
    size_t bytes = payload_bytes(plan, microbatch, rank, corpus->token_bytes);
    struct payload *payload = malloc(sizeof *payload + bytes);
    if (!payload)
        return error_memory(err, "gathering tokens");
    int failed = copy_tokens(corpus, plan, microbatch, rank, payload->tokens, ret_bad, err);
    if (failed) {
        free(payload);
        return failed;
    }
    atomic_init(&payload->references, 1);
    payload->bytes = bytes;
    payload->xxh3 = wire_checksum(payload->tokens, bytes);
    *ret_payload = payload;
    return 0;
}

struct payload *payload_ref(struct payload *payload)
{
    atomic_fetch_add_explicit(&payload->references, 1, memory_order_relaxed);
    return payload;
}

void payload_unref(struct payload *payload)
{
    if (!payload)
        return;
    /* Release, then acquire: whoever frees has seen every other holder's last read. */
    if (atomic_fetch_sub_explicit(&payload->references, 1, memory_order_acq_rel) == 1)
        free(payload);
}
