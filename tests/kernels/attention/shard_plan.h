/* CP shard plans of the daemon, as plans of attention. */
#ifndef BALLAST_TESTS_KERNELS_SHARD_PLAN_H
#define BALLAST_TESTS_KERNELS_SHARD_PLAN_H

#include <ballast/attention.h>

#include "cp/cp.h"

/* The plan of a rank; chunks, as many as the rank has, are the caller's to free. */
ballast_attention_plan shard_plan(const struct cp_shards *shards, uint32_t rank,
                                  const uint32_t *cu_seqlens, uint32_t piece_count,
                                  ballast_attention_chunk **ret_chunks);

/* Plans pieces of these lengths; the shards are the caller's to finish. */
void shard_pieces(enum cp_strategy strategy, uint32_t ranks, const uint32_t *lengths,
                  uint32_t piece_count, struct cp_shards *shards);

#endif
