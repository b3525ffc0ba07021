#include "support/tile_area.h"

#include <stdlib.h>

#include "base/grow.h"

struct microbatch {
    struct piece *pieces;
    size_t count, capacity;
    uint32_t tokens;
};

static void must(bool holds)
{
    if (!holds)
        abort();
}

static uint64_t rank_area(const struct cp_shards *shards, const struct cp_rank *rank,
                          const struct tile_shape *shape, enum tile_sharing sharing)
{
    uint64_t area = 0;
    uint32_t end = rank->first + rank->count;
    for (uint32_t c = rank->first, next; c < end; c = next) {
        for (next = c + 1; next < end && shards->chunks[next].piece == shards->chunks[c].piece;)
            next++;
        struct tile_chunk chunks[CP_MAX_RANKS];
        must(next - c <= CP_MAX_RANKS);
        for (uint32_t i = c; i < next; i++) {
            const struct chunk *chunk = &shards->chunks[i];
            chunks[i - c] = (struct tile_chunk){ chunk->piece, chunk->start, chunk->length };
            if (sharing == TILES_OF_CHUNKS)
                area += tiles_pairs(shape, &chunks[i - c], 1);
        }
        if (sharing == TILES_SHARED)
            area += tiles_pairs(shape, chunks, next - c);
    }
    return area;
}

static uint64_t busiest(const struct cp_shards *shards, uint32_t ranks,
                        const struct tile_shape *shape, enum tile_sharing sharing)
{
    uint64_t most = 0;
    for (uint32_t r = 0; r < ranks; r++) {
        uint64_t area = rank_area(shards, &shards->ranks[r], shape, sharing);
        most = area > most ? area : most;
    }
    return most;
}

static uint64_t pairs_of(const struct microbatch *batch)
{
    uint64_t pairs = 0;
    for (size_t i = 0; i < batch->count; i++)
        pairs += (uint64_t)batch->pieces[i].length * (batch->pieces[i].length + 1ULL) / 2;
    return pairs;
}

/* Takes what still fits of `length` tokens; returns how many are left. */
static uint32_t fill(struct microbatch *batch, uint32_t length, uint32_t window)
{
    uint32_t room = window - batch->tokens, taken = length < room ? length : room;
    must(grow(batch->pieces, &batch->capacity, batch->count + 1));
    batch->pieces[batch->count++] = (struct piece){ .length = taken };
    batch->tokens += taken;
    return length - taken;
}

double tile_area_over_ideal(const struct cp_options *options, const struct tile_shape *shape,
                            enum tile_sharing sharing, const uint32_t *lengths, size_t count,
                            uint32_t window)
{
    struct microbatch batch = { 0 };
    struct cp_shards shards = { 0 };
    double area = 0, ideal = 0;
    for (size_t i = 0; i < count; i++) {
        for (uint32_t left = lengths[i]; left > 0;) {
            left = fill(&batch, left, window);
            bool last = i + 1 == count && left == 0;
            if (batch.tokens < window && !last)
                continue;
            must(cp_shard(options, batch.pieces, batch.count, &shards, NULL) == 0);
            area += (double)busiest(&shards, options->ranks, shape, sharing);
            ideal += (double)pairs_of(&batch) / options->ranks;
            batch.count = 0;
            batch.tokens = 0;
        }
    }
    free(batch.pieces);
    cp_shards_fini(&shards);
    return area / ideal;
}
