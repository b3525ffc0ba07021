#include "kernels/ref/reference.h"

static uint32_t tokens_before(const ballast_attention_chunk *chunks, uint32_t count, uint32_t piece)
{
    uint32_t tokens = 0;
    for (uint32_t c = 0; c < count && chunks[c].piece < piece; c++)
        tokens += chunks[c].length;
    return tokens;
}

/* Tokens of the piece's chunks that are not after `position`. */
static uint32_t tokens_up_to(const ballast_attention_chunk *chunks, uint32_t count, uint32_t piece,
                             uint32_t position)
{
    uint32_t tokens = 0;
    for (uint32_t c = 0; c < count; c++) {
        if (chunks[c].piece != piece || chunks[c].start > position)
            continue;
        uint32_t reach = position + 1 - chunks[c].start;
        tokens += reach < chunks[c].length ? reach : chunks[c].length;
    }
    return tokens;
}

uint32_t reference_visibility(const ballast_attention_plan *plan, uint32_t *ret_first_key,
                              uint32_t *ret_visible)
{
    uint32_t row = 0;
    for (uint32_t c = 0; c < plan->chunk_count; c++) {
        const ballast_attention_chunk *chunk = &plan->chunks[c];
        for (uint32_t i = 0; i < chunk->length; i++, row++) {
            uint32_t position = chunk->start + i;
            ret_first_key[row] = plan->cu_seqlens[chunk->piece];
            ret_visible[row] = position + 1;
            if (!plan->key_chunks)
                continue;
            ret_first_key[row] =
                tokens_before(plan->key_chunks, plan->key_chunk_count, chunk->piece);
            ret_visible[row] =
                tokens_up_to(plan->key_chunks, plan->key_chunk_count, chunk->piece, position);
        }
    }
    for (; row < plan->padded_tokens; row++)
        ret_first_key[row] = ret_visible[row] = 0;
    return plan->key_chunks
               ? tokens_before(plan->key_chunks, plan->key_chunk_count, plan->piece_count)
               : plan->cu_seqlens[plan->piece_count];
}
