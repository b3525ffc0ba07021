/*
 * Evens out what arcs left uneven: the last ranks had little to choose from. The busiest rank and a
 * light one put together what they hold and are dealt it anew.
 */
#ifndef BALLAST_CP_SETTLE_H
#define BALLAST_CP_SETTLE_H

#include "cp/arcs.h"

/* Goes on until the busiest rank has at most `good` pairs, or nothing helps it, or long enough. */
int arcs_settle(struct arcs *arcs, uint32_t ranks, uint64_t good, struct error *err);

#endif
