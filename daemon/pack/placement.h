/*
 * Which micro-batch each piece of a step goes to: in the order given, longest first within each
 * part, into the lightest micro-batch that has room, of the lightest replica where replicas are to
 * be level; then, where each micro-batch is for itself, a bounded local search (pack/refine.h).
 * What finds no room is left out. One thread at a time for one struct placement. Pure.
 */
#ifndef BALLAST_PACK_PLACEMENT_H
#define BALLAST_PACK_PLACEMENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "pack/least.h"
#include "pack/pack.h"
#include "pack/refine.h"

struct placement {
    struct pack_shape shape;
    uint32_t replica_size; /* micro-batches of a replica; 1: each for itself */
    struct least work;     /* of each replica, while placing */
    workload *works;       /* of each micro-batch, afterwards */
    uint32_t *tokens;      /* of each micro-batch */
    uint32_t *groups;      /* micro-batch of each piece, or GROUP_NONE */
    size_t group_capacity;
    struct refine refine;
};

int placement_init(struct placement *placement, const struct pack_shape *shape, struct error *err);
void placement_fini(struct placement *placement);

/* Fills placement->groups. With replicas nothing is left for the leeway's sake. EX_OSERR when out
 * of memory. */
int place_pieces(struct placement *placement, const struct piece *pieces, size_t count,
                 struct leeway leeway, struct error *err);

#endif
