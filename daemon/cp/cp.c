#include "cp/cp.h"

#include <stdlib.h>

#include "base/grow.h"
#include "cp/arcs.h"
#include "cp/choose.h"
#include "cp/strategies.h"
#include "kernels/tiles/tile_pairs.h"

const char *cp_strategy_name(enum cp_strategy strategy)
{
    static const char *const names[] = { "per-sequence", "per-document", "adaptive", "hybrid" };
    return names[strategy];
}

int cp_append(struct cp_shards *shards, struct cp_rank *rank, struct chunk chunk, struct error *err)
{
    if (chunk.length == 0)
        return 0;
    rank->tokens += chunk.length;
    if (rank->count > 0) {
        struct chunk *last = &shards->chunks[shards->chunk_count - 1];
        if (last->piece == chunk.piece && last->start + last->length == chunk.start) {
            last->length += chunk.length;
            return 0;
        }
    }
    if (!grow(shards->chunks, &shards->chunk_capacity, shards->chunk_count + 1))
        return error_memory(err, "planning CP shards");
    shards->chunks[shards->chunk_count++] = chunk;
    rank->count++;
    return 0;
}

uint64_t cp_predict(const struct cp_options *options, struct cp_shards *shards)
{
    uint64_t busiest = 0;
    for (uint32_t r = 0; r < options->ranks; r++) {
        struct cp_rank *rank = &shards->ranks[r];
        rank->attention = 0;
        for (uint32_t c = rank->first; c < rank->first + rank->count; c++)
            rank->attention +=
                tile_pairs(options->tile, shards->chunks[c].start, shards->chunks[c].length);
        if (rank->attention > busiest)
            busiest = rank->attention;
    }
    return busiest;
}

static void pad_ranks(const struct cp_options *options, struct cp_shards *shards)
{
    uint32_t most = 0;
    for (uint32_t r = 0; r < options->ranks; r++)
        if (shards->ranks[r].tokens > most)
            most = shards->ranks[r].tokens;
    uint32_t multiple = options->pad_to_multiple;
    shards->padded_tokens = (most + multiple - 1) / multiple * multiple;
}

int cp_shard(const struct cp_options *options, const struct piece *pieces, size_t count,
             struct cp_shards *shards, struct error *err)
{
    int status = cp_choose(options, pieces, count, shards, err);
    if (status == 0)
        pad_ranks(options, shards);
    return status;
}

void cp_shards_fini(struct cp_shards *shards)
{
    if (shards->other)
        cp_shards_fini(shards->other);
    if (shards->arcs)
        arcs_fini(shards->arcs);
    free(shards->other);
    free(shards->arcs);
    free(shards->chunks);
    free(shards->ranks);
    *shards = (struct cp_shards){ 0 };
}
