/* What every CP shard plan must keep, whatever the strategy. */
#ifndef BALLAST_TESTS_CP_RULES_H
#define BALLAST_TESTS_CP_RULES_H

#include "cp/cp.h"

/*
 * The rule that the plan of these pieces breaks, in words, or NULL: every token on exactly one
 * rank; chunks by piece, then start, none empty, none touching; ranks' tokens within one of each
 * other, their sums and their predicted attention right.
 */
const char *cp_rule_broken(const struct cp_options *options, const struct piece *pieces,
                           size_t count, const struct cp_shards *shards);

/* The attention of the busiest rank. */
uint64_t cp_busiest(const struct cp_options *options, const struct cp_shards *shards);

#endif
