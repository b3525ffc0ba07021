/* The elementary CP strategies; cp.c chooses between them. */
#ifndef BALLAST_CP_STRATEGIES_H
#define BALLAST_CP_STRATEGIES_H

#include "cp/cp.h"

/*
 * A run of `tokens` dealt to 2 x cp slots: equal shares, the remainder one token a slot, going
 * round from slot `turn`. Slot i belongs to rank i, or 2 x cp - 1 - i in the second half.
 */
struct deal {
    uint64_t share;
    uint32_t slots, turn, remainder;
};

struct deal deal_tokens(uint64_t tokens, uint32_t ranks, uint32_t turn);

/* Where slot `slot` (0 .. slots, the last being the end) starts within the run. */
uint64_t deal_start(const struct deal *deal, uint32_t slot);

/* Whose turn it is after this run. */
uint32_t deal_next_turn(const struct deal *deal);

/*
 * Appends a chunk to the plan of the rank that is being written, joining it to the one before when
 * they touch. Empty chunks are ignored.
 */
int cp_append(struct cp_shards *shards, struct cp_rank *rank, struct chunk chunk,
              struct error *err);

/* Each fills chunks, chunk_count and first, count, tokens of every rank. */
int cp_per_sequence(const struct cp_options *options, const struct piece *pieces, size_t count,
                    struct cp_shards *shards, struct error *err);
int cp_per_document(const struct cp_options *options, const struct piece *pieces, size_t count,
                    struct cp_shards *shards, struct error *err);

#endif
