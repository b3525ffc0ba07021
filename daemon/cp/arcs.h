/*
 * `hybrid`'s own plan. Of any two measures on a ring, some arc holds exactly 1/k of both (slide an
 * arc of 1/k of the one round the ring; of the other it holds 1/k on average). So every rank in
 * turn can be given equal tokens and equal work in one arc, and two cuts a rank are all it costs.
 * Here the measures are tokens and query-key pairs of whole tiles, cuts are made where tiles end,
 * and the tokens that a rank then lacks come out of a few short runs, the filler.
 */
#ifndef BALLAST_CP_ARCS_H
#define BALLAST_CP_ARCS_H

#include <stdbool.h>

#include "cp/filler.h"
#include "cp/ring.h"

/* What one rank has been dealt, as runs of arcs.dealt. */
struct hand {
    struct cp_rank from_ring, from_filler;
    uint64_t tokens, pairs;
};

/* Working memory. Zero-initialise once, reuse, arcs_fini at the end. */
struct arcs {
    struct ring ring;
    struct filler filler;
    uint64_t *by_length; /* pieces, shortest first, as length << 32 | index */
    size_t by_length_capacity;
    uint32_t *filled; /* tokens at the head of each piece that are filler */
    size_t filled_capacity;
    struct hand *hands; /* of every rank */
    size_t hands_capacity;
    struct cp_shards dealt; /* only its chunks are used; what was dealt anew is left behind */
};

void arcs_fini(struct arcs *arcs);

/*
 * An arc that ends where a tile does lacks, or has too many, half a tile at most. With so many
 * tiles of filler for every rank, hardly any plan runs out of it (tests/bench/RESEARCH.md).
 */
#define ARCS_FILLER_TILES 2

/*
 * Fills chunks, chunk_count and first, count, tokens of every rank, with so many tiles of filler a
 * rank, but a quarter of the tokens at most. *ret_planned is false when it did not suffice to make
 * every rank's tokens right; then the plan is of no use. Without filler that is so unless lengths
 * happen to fit, but then there are no better plans.
 */
int cp_arcs(const struct cp_options *options, const struct piece *pieces, size_t count,
            uint32_t filler_tiles, struct arcs *arcs, struct cp_shards *shards, bool *ret_planned,
            struct error *err);

/* Gives a rank, the first of `left`, so many tokens and about its part of the work, if it can be.
 */
int arcs_deal(struct arcs *arcs, uint64_t tokens, uint32_t left, struct hand *hand, bool *ret_dealt,
              struct error *err);

/* Gives a rank all that is left. */
int arcs_deal_rest(struct arcs *arcs, struct hand *hand, struct error *err);

#endif
