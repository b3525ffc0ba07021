/* Has shares gathered that are not in the cache. Thread: the loop's. */
#ifndef BALLAST_SERVE_ORDER_H
#define BALLAST_SERVE_ORDER_H

#include "serve/state.h"

/*
 * Has one share of a planned step gathered, unless it is in the cache or on its way there. `ahead`:
 * nobody waits for it; it then pushes out only what lies before the step `past` (payload_cache.h).
 * False when there is no room for it, or the workers have too much to do: try again later.
 */
bool order_share(struct server *server, struct shared_plan *plan, struct payload_key key,
                 bool ahead, uint64_t past);

/* Has all shares of a step gathered that never were; the same. */
bool order_whole(struct server *server, struct shared_plan *plan);

/* A share was gathered: it counts for its step being whole. */
void order_done(struct server *server, const struct shared_plan *plan, struct payload_key key);

#endif
