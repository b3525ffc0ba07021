/*
 * `per-sequence`: the whole micro-batch dealt to 2 x cp slots as if it were one document; each slot
 * is then cut where pieces end.
 */
#include "cp/strategies.h"

/* Where a walk over the sequence stands: at the start of `piece`, `start` tokens in. */
struct walk {
    const struct piece *pieces;
    size_t count, piece;
    uint64_t start;
};

/* Appends what lies in [from, to) of the sequence; the walk must not have passed `from`. */
static int append_range(struct walk *walk, uint64_t from, uint64_t to, struct cp_shards *shards,
                        struct cp_rank *rank, struct error *err)
{
    while (from < to && walk->piece < walk->count) {
        uint64_t end = walk->start + walk->pieces[walk->piece].length;
        if (end <= from) {
            walk->start = end;
            walk->piece++;
            continue;
        }
        uint64_t stop = end < to ? end : to;
        struct chunk chunk = { (uint32_t)walk->piece, (uint32_t)(from - walk->start),
                               (uint32_t)(stop - from) };
        int status = cp_append(shards, rank, chunk, err);
        if (status)
            return status;
        from = stop;
    }
    return 0;
}

int cp_per_sequence(const struct cp_options *options, const struct piece *pieces, size_t count,
                    struct cp_shards *shards, struct error *err)
{
    uint64_t tokens = 0;
    for (size_t i = 0; i < count; i++)
        tokens += pieces[i].length;
    struct deal deal = deal_tokens(tokens, options->ranks, 0);
    /* Ranks rise as first halves rise; the walk for them never turns back. */
    struct walk first_half = { pieces, count, 0, 0 };
    for (uint32_t r = 0; r < options->ranks; r++) {
        struct cp_rank *rank = &shards->ranks[r];
        *rank = (struct cp_rank){ .first = (uint32_t)shards->chunk_count };
        uint32_t mirror = deal.slots - 1 - r;
        int status = append_range(&first_half, deal_start(&deal, r), deal_start(&deal, r + 1),
                                  shards, rank, err);
        struct walk second_half = first_half;
        if (status == 0)
            status = append_range(&second_half, deal_start(&deal, mirror),
                                  deal_start(&deal, mirror + 1), shards, rank, err);
        if (status)
            return status;
    }
    return 0;
}
