/* Plans as the strategy says: in one way, or in several, of which the best is kept. */
#ifndef BALLAST_CP_CHOOSE_H
#define BALLAST_CP_CHOOSE_H

#include "cp/cp.h"

/* Fills all of `shards` but padded_tokens. */
int cp_choose(const struct cp_options *options, const struct piece *pieces, size_t count,
              struct cp_shards *shards, struct error *err);

/* What every rank's attention is predicted to cost (cp.c); returns the busiest rank's. */
uint64_t cp_predict(const struct cp_options *options, struct cp_shards *shards);

#endif
