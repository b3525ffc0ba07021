/*
 * Local search on a window: pieces change places between bins so that the largest work falls.
 * Bins are full or nearly so; what makes a full bin lighter is to give two pieces, one long and one
 * short, for two of the same tokens that are more alike.
 */
#ifndef BALLAST_PACK_WINDOW_EXCHANGE_H
#define BALLAST_PACK_WINDOW_EXCHANGE_H

#include "pack/fixed_windows.h"

struct window_bundle; /* up to two pieces of a bin */

/* Working memory. Zero-initialise, window_exchange_fini at the end. */
struct window_exchange {
    struct window_bundle *given, *taken;
    uint32_t *members; /* pieces of one bin */
    size_t given_capacity, taken_capacity, member_capacity;
};

void window_exchange_fini(struct window_exchange *exchange);

/*
 * Lowers the largest work of the bins that are not capped as long as an exchange does so, a bounded
 * number of times; no other such bin comes to have as much, caps and room are kept. EX_OSERR when
 * out of memory.
 */
int window_exchange_run(struct window_exchange *exchange, const struct window_problem *problem,
                        struct window_bin *bins, uint32_t *groups, struct error *err);

#endif
