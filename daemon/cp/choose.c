#include "cp/choose.h"

#include <stdlib.h>

#include "base/grow.h"
#include "cp/arcs.h"
#include "cp/strategies.h"

/* One way to plan; filler_tiles means something to CP_HYBRID's own plan only. */
struct way {
    enum cp_strategy strategy;
    uint32_t filler_tiles;
};

/* The ways of CP_HYBRID, the first two of which are those of CP_ADAPTIVE. */
static const struct way ways[] = { { CP_PER_DOCUMENT, 0 },
                                   { CP_PER_SEQUENCE, 0 },
                                   { CP_HYBRID, 0 },
                                   { CP_HYBRID, ARCS_FILLER_TILES } };
#define ADAPTIVE_WAYS 2
#define HYBRID_WAYS 4

struct batch {
    const struct cp_options *options;
    const struct piece *pieces;
    size_t count;
};

/* Plans in one way; *ret_busiest is the busiest rank's predicted attention. */
static int plan_with(struct way way, const struct batch *batch, struct arcs *arcs,
                     struct cp_shards *shards, uint64_t *ret_busiest, struct error *err)
{
    const struct cp_options *options = batch->options;
    if (!grow(shards->ranks, &shards->rank_capacity, options->ranks))
        return error_memory(err, "planning CP shards");
    shards->used = way.strategy;
    shards->chunk_count = 0;
    bool planned = true;
    int status;
    if (way.strategy == CP_PER_SEQUENCE)
        status = cp_per_sequence(options, batch->pieces, batch->count, shards, err);
    else if (way.strategy == CP_PER_DOCUMENT)
        status = cp_per_document(options, batch->pieces, batch->count, shards, err);
    else
        status = cp_arcs(options, batch->pieces, batch->count, way.filler_tiles, arcs, shards,
                         &planned, err);
    if (status == 0)
        *ret_busiest = planned ? cp_predict(options, shards) : UINT64_MAX;
    return status;
}

/* Swaps the plan with the other one; working memory stays where it is. */
static void swap_plans(struct cp_shards *shards)
{
    struct cp_shards *other = shards->other, kept = *shards;
    *shards = *other;
    shards->other = other;
    shards->arcs = kept.arcs;
    *other = kept;
    other->other = NULL;
    other->arcs = NULL;
}

/*
 * Plans in one more way and keeps the better plan; *least is what its busiest rank has to do. Of
 * equals hybrid takes the one with fewer chunks, the others the first.
 */
static int try_way(struct way way, const struct batch *batch, struct cp_shards *shards,
                   uint64_t *least, struct error *err)
{
    uint64_t busiest = UINT64_MAX;
    int status = plan_with(way, batch, shards->arcs, shards->other, &busiest, err);
    bool simpler = way.strategy == CP_HYBRID && shards->other->chunk_count < shards->chunk_count;
    if (status == 0 && (busiest < *least || (busiest == *least && simpler))) {
        swap_plans(shards);
        *least = busiest;
    }
    return status;
}

/* Plans in the first `way_count` ways and keeps the best plan. */
static int plan_best(size_t way_count, const struct batch *batch, struct cp_shards *shards,
                     struct error *err)
{
    if (!shards->other && !(shards->other = calloc(1, sizeof *shards->other)))
        return error_memory(err, "planning CP shards");
    if (way_count > ADAPTIVE_WAYS && !shards->arcs &&
        !(shards->arcs = calloc(1, sizeof *shards->arcs)))
        return error_memory(err, "planning CP shards");
    uint64_t least = UINT64_MAX;
    int status = plan_with(ways[0], batch, NULL, shards, &least, err);
    for (size_t i = 1; i < way_count && status == 0; i++)
        status = try_way(ways[i], batch, shards, &least, err);
    return status;
}

int cp_choose(const struct cp_options *options, const struct piece *pieces, size_t count,
              struct cp_shards *shards, struct error *err)
{
    struct batch batch = { options, pieces, count };
    if (options->strategy == CP_HYBRID)
        return plan_best(HYBRID_WAYS, &batch, shards, err);
    if (options->strategy == CP_ADAPTIVE)
        return plan_best(ADAPTIVE_WAYS, &batch, shards, err);
    uint64_t busiest;
    return plan_with((struct way){ options->strategy, 0 }, &batch, NULL, shards, &busiest, err);
}
