/*
 * CP sharding: how one micro-batch is cut over context-parallel ranks (DESIGN section 7).
 * A strategy turns the lengths of the pieces into chunks; every token falls into exactly one chunk,
 * and the ranks' token counts differ by at most one before padding.
 *
 * Pure and deterministic; one thread at a time for one struct cp_shards.
 */
#ifndef BALLAST_CP_CP_H
#define BALLAST_CP_CP_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/piece.h"

enum cp_strategy { CP_PER_SEQUENCE, CP_PER_DOCUMENT, CP_ADAPTIVE, CP_HYBRID };
#define CP_STRATEGY_COUNT (CP_HYBRID + 1)

#define CP_MAX_RANKS 1024

/* What the configuration says under `sharding`, and parallel.cp. */
struct cp_options {
    enum cp_strategy strategy;
    uint32_t ranks;           /* cp, 1..CP_MAX_RANKS */
    uint32_t tile;            /* query rows of one kernel tile */
    uint32_t pad_to_multiple; /* every rank's padded count is a multiple of it, >= 1 */
};

/* A run of one piece's tokens that one rank owns. Hashed and sent as it lies (PROTOCOL.md). */
struct chunk {
    uint32_t piece;  /* index within the micro-batch */
    uint32_t start;  /* first token, counted from the start of the piece */
    uint32_t length; /* tokens, at least 1 */
};

_Static_assert(sizeof(struct chunk) == 12, "struct chunk is hashed and sent as it lies");

struct cp_rank {
    uint32_t first, count; /* its chunks, by piece, then start: chunks[first .. first + count) */
    uint32_t tokens;       /* without padding */
    uint32_t zero;         /* always 0, so that the struct can be hashed as it lies */
    uint64_t attention;    /* predicted, in query-key pairs of whole tiles (tile_pairs.h) */
};

/* The CP shard plan of one micro-batch. Zero-initialise once, reuse, cp_shards_fini at the end. */
struct cp_shards {
    enum cp_strategy used; /* never CP_ADAPTIVE; CP_HYBRID only where the others are no better */
    struct chunk *chunks;  /* grouped by rank; neighbours that touch are one chunk */
    size_t chunk_count, chunk_capacity;
    struct cp_rank *ranks; /* options->ranks of them */
    size_t rank_capacity;
    uint32_t padded_tokens;  /* what every rank holds: its tokens and padding at the end */
    struct cp_shards *other; /* working memory of CP_ADAPTIVE and CP_HYBRID */
    struct arcs *arcs;       /* and of CP_HYBRID */
};

void cp_shards_fini(struct cp_shards *shards);

/* Plans one micro-batch of `count` pieces, possibly none. EX_OSERR when out of memory. */
int cp_shard(const struct cp_options *options, const struct piece *pieces, size_t count,
             struct cp_shards *shards, struct error *err);

/* "per-sequence", "per-document", "adaptive", "hybrid". */
const char *cp_strategy_name(enum cp_strategy strategy);

#endif
