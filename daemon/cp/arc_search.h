/* The arc of a ring that fits a rank best. */
#ifndef BALLAST_CP_ARC_SEARCH_H
#define BALLAST_CP_ARC_SEARCH_H

#include <stdbool.h>

#include "cp/filler.h"
#include "cp/ring.h"

/* What a rank is to have. */
struct share {
    uint64_t tokens;
    uint64_t from_filler; /* of these, tokens that had better come from the filler */
    uint64_t pairs;       /* the goal */
};

struct arc {
    struct place from, to;
    uint64_t missing; /* tokens to be taken from the filler */
    uint64_t off;     /* pairs above or below the goal */
};

/*
 * Looks for the arc that, with the filler that makes up its tokens, comes nearest to share->pairs;
 * the first of equals. Arcs end at one of the two places next to where they hold as many tokens as
 * should not come from the filler. False when there is none. The ring is summed up.
 */
bool arc_search(const struct ring *ring, const struct filler *filler, const struct share *share,
                struct arc *ret_arc);

#endif
