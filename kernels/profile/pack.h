/*
 * Micro-batches to measure: pieces and the chunks of one CP rank, sharded piece by piece as
 * Ballast's `per-document` does. Pure; the arrays are the caller's to free with profile_pack_fini.
 */
#ifndef BALLAST_PROFILE_PACK_H
#define BALLAST_PROFILE_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include <ballast/attention.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zero-initialised: a micro-batch without pieces. */
struct profile_pack {
    uint32_t *cu_seqlens; /* [pieces + 1], or NULL for no piece */
    ballast_attention_chunk *chunks;
    uint32_t pieces, chunk_count, piece_capacity, chunk_capacity;
};

void profile_pack_fini(struct profile_pack *pack);

/* Each of these adds a piece of `length` >= 1 tokens; false: out of memory, or over 2^32 tokens. */

/* Its last `rows` tokens, 1 to length, are the rank's. */
bool profile_pack_add_rows(struct profile_pack *pack, uint32_t length, uint32_t rows);

/*
 * Rank `rank` of `cp` has chunks rank and 2cp-1-rank of 2cp equal ones. What is left over, fewer
 * than 2cp tokens at the end, is dealt one by one from rank `*dealer` on, which moves on.
 */
bool profile_pack_add_share(struct profile_pack *pack, uint32_t length, uint32_t cp, uint32_t rank,
                            uint32_t *dealer);

/* Tokens of all pieces. */
uint32_t profile_pack_tokens(const struct profile_pack *pack);

/* As the library wants it; borrows the arrays. */
ballast_attention_plan profile_pack_plan(const struct profile_pack *pack);

#ifdef __cplusplus
}
#endif

#endif
