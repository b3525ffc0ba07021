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

/* In which order pieces lie on the ring. None is better than the others, but the best of all is. */
enum arcs_order {
    ARCS_AS_THEY_COME,
    ARCS_LONGEST_FIRST,
    ARCS_SHORTEST_FIRST,
    ARCS_LONG_AND_SHORT, /* in turn */
};

/* Working memory. Zero-initialise once, reuse, arcs_fini at the end. */
struct arcs {
    struct ring ring;
    struct filler filler;
    uint64_t *by_length; /* pieces, shortest first, as length << 32 | index */
    size_t by_length_capacity;
    uint32_t *filled; /* tokens at the head of each piece that are filler */
    size_t filled_capacity;
    uint64_t tokens; /* of the micro-batch */
};

void arcs_fini(struct arcs *arcs);

/*
 * An arc that ends where a tile does lacks, or has too many, half a tile at most. With so many
 * tiles of filler for every rank, hardly any plan runs out of it (RESEARCH.md).
 */
#define ARCS_FILLER_TILES 2

/*
 * Before the plans of a micro-batch: sorts its pieces and chooses the filler, so many tiles a rank,
 * but a quarter of the tokens at most. Without filler a plan works out only where lengths happen to
 * fit, and then it is the one with the fewest cuts.
 */
int arcs_prepare(const struct cp_options *options, const struct piece *pieces, size_t count,
                 uint32_t filler_tiles, struct arcs *arcs, struct error *err);

/*
 * Fills chunks, chunk_count and first, count, tokens of every rank. *ret_planned is false when too
 * few tokens were left to make every rank's count right; then the plan is of no use.
 */
int cp_arcs(const struct cp_options *options, const struct piece *pieces, size_t count,
            enum arcs_order order, struct arcs *arcs, struct cp_shards *shards, bool *ret_planned,
            struct error *err);

#endif
