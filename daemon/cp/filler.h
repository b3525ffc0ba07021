/*
 * A line of short runs, of which every rank takes as many tokens as its arc of the ring lacks
 * (arcs.c). Being cut anywhere costs short runs little: their rows see few columns.
 */
#ifndef BALLAST_CP_FILLER_H
#define BALLAST_CP_FILLER_H

#include "cp/cp.h"

/* Zero-initialise once, reuse, filler_fini at the end. */
struct filler {
    struct chunk *runs;
    size_t count, capacity;
    size_t at;       /* the first run that is not all taken */
    uint32_t offset; /* tokens taken of it */
    uint64_t tokens; /* left */
};

void filler_fini(struct filler *filler);

/* Empties it; goes back to where nothing has been taken yet. */
void filler_clear(struct filler *filler);
void filler_rewind(struct filler *filler);

/* EX_OSERR when out of memory. To be called before anything is taken. */
int filler_add(struct filler *filler, struct chunk run, struct error *err);

/* What the next `tokens` tokens cost a rank that takes them (tile_pairs). */
uint64_t filler_pairs(const struct filler *filler, uint32_t tile, uint64_t tokens);

/* Takes the next `tokens`, of those left, and appends them to the plan. */
int filler_take(struct filler *filler, uint64_t tokens, struct cp_shards *shards,
                struct cp_rank *rank, struct error *err);

#endif
