#include "cp/cp.h"

#include <stdlib.h>

#include "base/grow.h"
#include "cost/tile.h"
#include "cp/strategies.h"

const char *cp_strategy_name(enum cp_strategy strategy)
{
    static const char *const names[] = { "per-sequence", "per-document", "adaptive" };
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

/* What every rank's attention is predicted to cost; returns the busiest rank's. */
static uint64_t predict(const struct cp_options *options, struct cp_shards *shards)
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

/* Plans with one elementary strategy; *ret_busiest is the busiest rank's predicted attention. */
static int plan_with(enum cp_strategy strategy, const struct cp_options *options,
                     const struct piece *pieces, size_t count, struct cp_shards *shards,
                     uint64_t *ret_busiest, struct error *err)
{
    if (!grow(shards->ranks, &shards->rank_capacity, options->ranks))
        return error_memory(err, "planning CP shards");
    shards->used = strategy;
    shards->chunk_count = 0;
    int status = strategy == CP_PER_SEQUENCE ? cp_per_sequence(options, pieces, count, shards, err)
                                             : cp_per_document(options, pieces, count, shards, err);
    if (status == 0)
        *ret_busiest = predict(options, shards);
    return status;
}

static void swap_plans(struct cp_shards *a, struct cp_shards *b)
{
    struct cp_shards kept = *a;
    *a = *b;
    *b = kept;
    b->other = a->other;
    a->other = b;
}

/* Both strategies, and the one whose busiest rank is predicted to be done first; per-document ties.
 */
static int plan_adaptive(const struct cp_options *options, const struct piece *pieces, size_t count,
                         struct cp_shards *shards, struct error *err)
{
    if (!shards->other) {
        shards->other = calloc(1, sizeof *shards->other);
        if (!shards->other)
            return error_memory(err, "planning CP shards");
    }
    uint64_t by_document, by_sequence;
    int status = plan_with(CP_PER_DOCUMENT, options, pieces, count, shards, &by_document, err);
    if (status == 0)
        status =
            plan_with(CP_PER_SEQUENCE, options, pieces, count, shards->other, &by_sequence, err);
    if (status == 0 && by_sequence < by_document)
        swap_plans(shards, shards->other);
    return status;
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
    uint64_t busiest;
    int status = options->strategy == CP_ADAPTIVE
                     ? plan_adaptive(options, pieces, count, shards, err)
                     : plan_with(options->strategy, options, pieces, count, shards, &busiest, err);
    if (status == 0)
        pad_ranks(options, shards);
    return status;
}

void cp_shards_fini(struct cp_shards *shards)
{
    if (shards->other)
        cp_shards_fini(shards->other);
    free(shards->other);
    free(shards->chunks);
    free(shards->ranks);
    *shards = (struct cp_shards){ 0 };
}
