/*
 * `per-document`: every piece dealt to 2 x cp slots, without padding (PAPER.md, CP sharding). The
 * remainders go round from piece to piece, so that rank totals differ by at most one token.
 */
#include "cp/strategies.h"

static struct chunk slot_of(const struct deal *deal, uint32_t piece, uint32_t slot)
{
    uint64_t start = deal_start(deal, slot), end = deal_start(deal, slot + 1);
    return (struct chunk){ piece, (uint32_t)start, (uint32_t)(end - start) };
}

static int deal_to_rank(const struct cp_options *options, const struct piece *pieces, size_t count,
                        uint32_t rank, struct cp_shards *shards, struct error *err)
{
    uint32_t turn = 0;
    for (size_t i = 0; i < count; i++) {
        struct deal deal = deal_tokens(pieces[i].length, options->ranks, turn);
        uint32_t mirror = deal.slots - 1 - rank;
        int status =
            cp_append(shards, &shards->ranks[rank], slot_of(&deal, (uint32_t)i, rank), err);
        if (status == 0)
            status =
                cp_append(shards, &shards->ranks[rank], slot_of(&deal, (uint32_t)i, mirror), err);
        if (status)
            return status;
        turn = deal_next_turn(&deal);
    }
    return 0;
}

int cp_per_document(const struct cp_options *options, const struct piece *pieces, size_t count,
                    struct cp_shards *shards, struct error *err)
{
    for (uint32_t rank = 0; rank < options->ranks; rank++) {
        shards->ranks[rank] = (struct cp_rank){ .first = (uint32_t)shards->chunk_count };
        int status = deal_to_rank(options, pieces, count, rank, shards, err);
        if (status)
            return status;
    }
    return 0;
}
