/* A shard that the ledger drops, as the corpus knows it. Pure. */
#ifndef BALLAST_PLAN_DROPPED_SHARDS_H
#define BALLAST_PLAN_DROPPED_SHARDS_H

#include "corpus/corpus.h"
#include "plan/ledger.h"

/*
 * The source of the shard that an entry drops; its number there is the entry's own. EX_DATAERR when
 * the corpus has no such shard under that name.
 */
int dropped_shard_find(const struct ledger_entry *entry, const struct corpus *corpus,
                       size_t *ret_source, struct error *err);

#endif
