/*
 * Bounded local search on a placed step: the heaviest micro-batch gives a long piece to a light one
 * and takes short ones for it, as many as the light one's tokens ask for. For the same tokens long
 * pieces are more work, so this levels even micro-batches that are full. Where some are full far
 * below the others, small pieces of the others may stay behind first.
 * One thread at a time for one struct refine. Pure.
 */
#ifndef BALLAST_PACK_REFINE_H
#define BALLAST_PACK_REFINE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "pack/pack.h"

struct member {
    workload work;
    uint32_t length;
    uint32_t piece; /* its index */
};

/* The pieces of one micro-batch, the shortest first. */
struct members {
    struct member *list;
    size_t count, capacity;
};

/* Working memory. Zero-initialise, refine_fini at the end. */
struct refine {
    struct members *members; /* of each micro-batch */
    size_t member_capacity;
};

void refine_fini(struct refine *refine);

/* What may stay behind, so that the level comes down to that of the light ones. All 0: nothing. */
struct leeway {
    uint32_t small_tokens; /* shorter pieces may, */
    size_t urgent;         /* but none of pieces[0 .. urgent) */
    uint32_t idle; /* so many micro-batches may stay below that level; N: nothing stays behind */
};

/* A step as it was placed; piece i lies in groups[i], or nowhere (GROUP_NONE). */
struct placed {
    const struct pack_shape *shape;
    const struct piece *pieces;
    size_t count;
    uint32_t *groups;
    workload *work;   /* of each micro-batch */
    uint32_t *tokens; /* of each micro-batch */
    struct leeway leeway;
};

/*
 * Leaves behind what may stay above the level of the light ones (GROUP_NONE), then lowers the
 * largest workload while an exchange does so, at most 8 x N times. No cap is broken, no other piece
 * loses its place. EX_OSERR when out of memory, the step still being whole.
 */
int refine_placed(struct refine *refine, struct placed *placed, struct error *err);

#endif
