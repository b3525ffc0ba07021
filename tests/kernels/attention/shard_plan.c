#include "shard_plan.h"

#include <criterion/criterion.h>
#include <stdlib.h>

ballast_attention_plan shard_plan(const struct cp_shards *shards, uint32_t rank,
                                  const uint32_t *cu_seqlens, uint32_t piece_count,
                                  ballast_attention_chunk **ret_chunks)
{
    const struct cp_rank *share = &shards->ranks[rank];
    ballast_attention_chunk *chunks = calloc((size_t)share->count + 1, sizeof *chunks);
    cr_assert(chunks);
    for (uint32_t c = 0; c < share->count; c++) {
        const struct chunk *chunk = &shards->chunks[share->first + c];
        chunks[c] = (ballast_attention_chunk){ chunk->piece, chunk->start, chunk->length };
    }
    ballast_attention_plan plan = BALLAST_ATTENTION_PLAN_INIT;
    plan.piece_count = piece_count;
    plan.cu_seqlens = cu_seqlens;
    plan.chunks = chunks;
    plan.chunk_count = share->count;
    plan.padded_tokens = shards->padded_tokens;
    *ret_chunks = chunks;
    return plan;
}

void shard_pieces(enum cp_strategy strategy, uint32_t ranks, const uint32_t *lengths,
                  uint32_t piece_count, struct cp_shards *shards)
{
    struct cp_options options = { strategy, ranks, .tile = 32, .pad_to_multiple = 4 };
    struct piece *pieces = calloc((size_t)piece_count + 1, sizeof *pieces);
    cr_assert(pieces);
    for (uint32_t p = 0; p < piece_count; p++)
        pieces[p].length = lengths[p];
    struct error err = { 0 };
    cr_assert_eq(cp_shard(&options, pieces, piece_count, shards, &err), 0, "%s", err.text);
    free(pieces);
}
