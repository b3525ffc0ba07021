/*
 * A ring of runs of tokens, from which one rank after another takes an arc (arcs.c). Runs start at
 * a multiple of the tile and are cut only there: such a cut leaves every tile as it was, and costs
 * nothing.
 */
#ifndef BALLAST_CP_RING_H
#define BALLAST_CP_RING_H

#include "cp/cp.h"

/* Zero-initialise once, reuse, ring_fini at the end. */
struct ring {
    struct chunk *runs; /* the first follows the last */
    size_t count, capacity;
    /* Tokens, and pairs (tile_pairs), before each run, twice round: 2 x count + 1 of each. */
    uint64_t *tokens, *pairs;
    size_t tokens_capacity, pairs_capacity;
    struct chunk *rest; /* working memory of ring_take */
    size_t rest_capacity;
    uint32_t tile;
};

/* A place to cut: so many tokens into a run, runs being counted twice round. */
struct place {
    size_t run;
    uint32_t offset; /* a multiple of the tile, or the run's length */
};

void ring_fini(struct ring *ring);

/* Empties the ring. */
void ring_clear(struct ring *ring, uint32_t tile);

/* Adds a run at the end; an empty one is ignored. EX_OSERR when out of memory, as everywhere. */
int ring_add(struct ring *ring, struct chunk run, struct error *err);

/* Sums up tokens and pairs; before anything below is called. */
int ring_sum(struct ring *ring, struct error *err);

static inline uint64_t ring_tokens(const struct ring *ring)
{
    return ring->tokens[ring->count];
}

static inline uint64_t ring_pairs(const struct ring *ring)
{
    return ring->pairs[ring->count];
}

static inline const struct chunk *ring_run(const struct ring *ring, size_t run)
{
    return &ring->runs[run < ring->count ? run : run - ring->count];
}

/* Tokens, and pairs, of the arc [from, to). */
uint64_t ring_arc_tokens(const struct ring *ring, struct place from, struct place to);
uint64_t ring_arc_pairs(const struct ring *ring, struct place from, struct place to);

/*
 * Takes the arc [from, to), at most once round, out of the ring and appends its runs to the plan.
 * The ring then starts where the arc ended; it must be summed up again.
 */
int ring_take(struct ring *ring, struct place from, struct place to, struct cp_shards *shards,
              struct cp_rank *rank, struct error *err);

#endif
