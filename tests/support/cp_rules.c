#include "support/cp_rules.h"

#include <stdlib.h>

#include "kernels/tiles/tile_pairs.h"

uint64_t cp_busiest(const struct cp_options *options, const struct cp_shards *shards)
{
    uint64_t most = 0;
    for (uint32_t r = 0; r < options->ranks; r++)
        most = shards->ranks[r].attention > most ? shards->ranks[r].attention : most;
    return most;
}

static const char *chunk_fault(const struct piece *pieces, size_t count, struct chunk chunk,
                               const struct chunk *before)
{
    if (chunk.piece >= count || chunk.length == 0)
        return "a chunk of no piece, or of no tokens";
    if ((uint64_t)chunk.start + chunk.length > pieces[chunk.piece].length)
        return "a chunk ends beyond its piece";
    if (before && before->piece > chunk.piece)
        return "chunks are not in the order of their pieces";
    if (before && before->piece == chunk.piece && before->start + before->length >= chunk.start)
        return "chunks of a piece are out of order, or touch";
    return NULL;
}

static const char *rank_fault(const struct cp_options *options, const struct piece *pieces,
                              size_t count, const struct cp_shards *shards, uint32_t number)
{
    const struct cp_rank *rank = &shards->ranks[number];
    uint64_t tokens = 0, attention = 0, all = 0;
    for (uint32_t i = 0; i < rank->count; i++) {
        const struct chunk *chunk = &shards->chunks[rank->first + i];
        const char *fault = chunk_fault(pieces, count, *chunk, i > 0 ? chunk - 1 : NULL);
        if (fault)
            return fault;
        tokens += chunk->length;
        attention += tile_pairs(options->tile, chunk->start, chunk->length);
    }
    for (size_t i = 0; i < count; i++)
        all += pieces[i].length;
    if (tokens != rank->tokens || attention != rank->attention)
        return "tokens or attention of a rank are not those of its chunks";
    if (tokens < all / options->ranks || tokens > (all + options->ranks - 1) / options->ranks)
        return "a rank has more than its share of tokens, or less";
    return tokens > shards->padded_tokens ? "a rank has more tokens than padded ones" : NULL;
}

/* Token by token, so that it cannot be wrong in a clever way. */
static const char *cover_fault(const struct piece *pieces, size_t count,
                               const struct cp_shards *shards)
{
    const char *fault = NULL;
    unsigned char **owned = calloc(count + 1, sizeof *owned);
    for (size_t i = 0; i < count; i++)
        owned[i] = calloc(pieces[i].length, 1);
    for (size_t c = 0; c < shards->chunk_count; c++)
        for (uint32_t i = 0; i < shards->chunks[c].length; i++)
            if (owned[shards->chunks[c].piece][shards->chunks[c].start + i]++)
                fault = "a token is on two ranks";
    for (size_t i = 0; i < count; i++)
        for (uint32_t t = 0; t < pieces[i].length; t++)
            if (!owned[i][t])
                fault = "a token is on no rank";
    for (size_t i = 0; i < count; i++)
        free(owned[i]);
    free(owned);
    return fault;
}

const char *cp_rule_broken(const struct cp_options *options, const struct piece *pieces,
                           size_t count, const struct cp_shards *shards)
{
    size_t first = 0;
    for (uint32_t r = 0; r < options->ranks; r++) {
        if (shards->ranks[r].first != first)
            return "the chunks of the ranks do not follow each other";
        first += shards->ranks[r].count;
        const char *fault = rank_fault(options, pieces, count, shards, r);
        if (fault)
            return fault;
    }
    return first == shards->chunk_count ? cover_fault(pieces, count, shards)
                                        : "there are chunks that no rank has";
}
