#include "cp/choose.h"

#include <stdlib.h>

#include "base/grow.h"
#include "cost/tile.h"
#include "cp/arcs.h"
#include "cp/strategies.h"

/* One way to plan; the order means something to CP_HYBRID's own plan only. */
struct way {
    enum cp_strategy strategy;
    enum arcs_order order;
};

/* The first of equals is kept. */
static const struct way of_adaptive[] = { { CP_PER_DOCUMENT, 0 }, { CP_PER_SEQUENCE, 0 } };
static const struct way of_hybrid[] = { { CP_HYBRID, ARCS_AS_THEY_COME },
                                        { CP_HYBRID, ARCS_LONGEST_FIRST },
                                        { CP_HYBRID, ARCS_SHORTEST_FIRST },
                                        { CP_HYBRID, ARCS_LONG_AND_SHORT } };
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Beyond so many pieces hybrid tries one order only: the more pieces, the less it matters. */
#define MANY_PIECES 1024

/* Hybrid looks no further when the busiest rank is within 1/256 of what no plan can beat. */
#define GOOD_ENOUGH 256

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
        status =
            cp_arcs(options, batch->pieces, batch->count, way.order, arcs, shards, &planned, err);
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

/* Per-document or per-sequence, whichever is predicted to be done first. */
static int plan_adaptive(const struct batch *batch, struct cp_shards *shards, uint64_t *ret_least,
                         struct error *err)
{
    if (!shards->other && !(shards->other = calloc(1, sizeof *shards->other)))
        return error_memory(err, "planning CP shards");
    int status = plan_with(of_adaptive[0], batch, NULL, shards, ret_least, err);
    if (status == 0)
        status = try_way(of_adaptive[1], batch, shards, ret_least, err);
    return status;
}

/* What the busiest rank has to do at least: cuts never make the tiles cost less. */
static uint64_t least_possible(const struct batch *batch)
{
    uint64_t pairs = 0;
    for (size_t i = 0; i < batch->count; i++)
        pairs += tile_pairs(batch->options->tile, 0, batch->pieces[i].length);
    return pairs / batch->options->ranks;
}

/* Tries arcs of a ring (arcs.h) in every order, until a plan is good enough. */
static int try_arcs(const struct batch *batch, uint32_t filler_tiles, size_t ways,
                    struct cp_shards *shards, uint64_t *least, struct error *err)
{
    uint64_t good = least_possible(batch);
    good += good / GOOD_ENOUGH;
    int status =
        arcs_prepare(batch->options, batch->pieces, batch->count, filler_tiles, shards->arcs, err);
    for (size_t i = 0; i < ways && status == 0 && (i == 0 || *least > good); i++)
        status = try_way(of_hybrid[i], batch, shards, least, err);
    return status;
}

static int plan_hybrid(const struct batch *batch, struct cp_shards *shards, struct error *err)
{
    if (!shards->arcs && !(shards->arcs = calloc(1, sizeof *shards->arcs)))
        return error_memory(err, "planning CP shards");
    uint64_t least;
    size_t ways = batch->count > MANY_PIECES ? 1 : COUNT_OF(of_hybrid);
    int status = plan_adaptive(batch, shards, &least, err);
    if (status == 0)
        status = try_arcs(batch, 0, 1, shards, &least, err);
    if (status == 0)
        status = try_arcs(batch, ARCS_FILLER_TILES, ways, shards, &least, err);
    return status;
}

int cp_choose(const struct cp_options *options, const struct piece *pieces, size_t count,
              struct cp_shards *shards, struct error *err)
{
    struct batch batch = { options, pieces, count };
    uint64_t least;
    if (options->strategy == CP_HYBRID)
        return plan_hybrid(&batch, shards, err);
    if (options->strategy == CP_ADAPTIVE)
        return plan_adaptive(&batch, shards, &least, err);
    return plan_with((struct way){ options->strategy, 0 }, &batch, NULL, shards, &least, err);
}
