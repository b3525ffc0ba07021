#include "kernels/profile/pack.h"

#include <stdlib.h>

void profile_pack_fini(struct profile_pack *pack)
{
    free(pack->cu_seqlens);
    free(pack->chunks);
    *pack = (struct profile_pack){ 0 };
}

uint32_t profile_pack_tokens(const struct profile_pack *pack)
{
    return pack->pieces ? pack->cu_seqlens[pack->pieces] : 0;
}

/* Room for `wanted` items of `bytes`; NULL, and the old array stays, when there is no memory. */
static void *reserve(void *items, uint32_t *capacity, uint32_t wanted, size_t bytes)
{
    if (wanted <= *capacity)
        return items;
    uint32_t more = wanted > UINT32_MAX / 2 ? wanted : 2 * wanted;
    void *moved = realloc(items, more * bytes);
    if (moved)
        *capacity = more;
    return moved;
}

static bool add_piece(struct profile_pack *pack, uint32_t length)
{
    uint32_t before = profile_pack_tokens(pack);
    if (length > UINT32_MAX - before)
        return false;
    uint32_t *moved =
        reserve(pack->cu_seqlens, &pack->piece_capacity, pack->pieces + 2, sizeof *moved);
    if (!moved)
        return false;
    pack->cu_seqlens = moved;
    pack->cu_seqlens[pack->pieces] = before;
    pack->cu_seqlens[++pack->pieces] = before + length;
    return true;
}

/* A chunk of the last piece; one that goes on where the one before ended becomes part of it. */
static bool add_chunk(struct profile_pack *pack, uint32_t start, uint32_t length)
{
    ballast_attention_chunk *last = pack->chunk_count ? &pack->chunks[pack->chunk_count - 1] : NULL;
    uint32_t piece = pack->pieces - 1;
    if (!length)
        return true;
    if (last && last->piece == piece && last->start + last->length == start) {
        last->length += length;
        return true;
    }
    ballast_attention_chunk *moved =
        reserve(pack->chunks, &pack->chunk_capacity, pack->chunk_count + 1, sizeof *moved);
    if (!moved)
        return false;
    pack->chunks = moved;
    pack->chunks[pack->chunk_count++] = (ballast_attention_chunk){ piece, start, length };
    return true;
}

bool profile_pack_add_rows(struct profile_pack *pack, uint32_t length, uint32_t rows)
{
    return add_piece(pack, length) && add_chunk(pack, length - rows, rows);
}

bool profile_pack_add_share(struct profile_pack *pack, uint32_t length, uint32_t cp, uint32_t rank,
                            uint32_t *dealer)
{
    uint32_t equal = length / (2 * cp);
    if (!add_piece(pack, length) || !add_chunk(pack, rank * equal, equal) ||
        !add_chunk(pack, (2 * cp - 1 - rank) * equal, equal))
        return false;
    for (uint32_t token = 2 * cp * equal; token < length; token++) {
        if (*dealer == rank && !add_chunk(pack, token, 1))
            return false;
        *dealer = (*dealer + 1) % cp;
    }
    return true;
}

ballast_attention_plan profile_pack_plan(const struct profile_pack *pack)
{
    ballast_attention_plan plan = BALLAST_ATTENTION_PLAN_INIT;
    plan.piece_count = pack->pieces;
    plan.cu_seqlens = pack->cu_seqlens;
    plan.chunks = pack->chunks;
    plan.chunk_count = pack->chunk_count;
    return plan;
}
