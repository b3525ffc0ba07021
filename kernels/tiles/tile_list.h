/*
 * The tiles of one micro-batch on one rank, as the kernels take them: made once on the host, in
 * time and memory linear in the rank's tokens, and the same for every KV head.
 */
#ifndef BALLAST_TILES_TILE_LIST_H
#define BALLAST_TILES_TILE_LIST_H

#include "kernels/tiles/tile_pairs.h"

/* Query rows [first_row, first_row + rows) of one piece, or of padding, where `visible` is 0. */
struct query_tile {
    uint32_t first_row, rows;
    uint32_t first_key; /* key row of the piece's first key */
    uint32_t visible;   /* keys that the last row sees; the rows before see as many or fewer */
};

/* Keys [offset, offset + keys) of one piece, and the query rows that see any of them. */
struct key_tile {
    uint32_t first_key, keys;
    uint32_t offset; /* keys of the piece before first_key: a row sees these first */
    uint32_t first_row, rows;
};

/* What to list. Chunks are by piece, then start, and do not overlap. Nothing is owned. */
struct tile_plan {
    const uint32_t *piece_starts;    /* [pieces + 1] first token of each piece */
    const struct tile_chunk *chunks; /* of the query rows */
    uint32_t chunk_count;
    const struct tile_chunk *key_chunks; /* of the key rows; NULL: all tokens of all pieces */
    uint32_t key_chunk_count;
    uint32_t pieces;
    uint32_t padded_rows;    /* query rows with padding */
    struct tile_shape shape; /* of query tiles */
    uint32_t key_tile_keys;  /* keys of a key tile */
};

/* Zero-initialise, tile_list_build, tile_list_fini. */
struct tile_list {
    uint32_t *visible; /* [padded_rows] how many keys of its piece, from the first, a row sees */
    struct query_tile *query_tiles; /* most visible keys first */
    struct key_tile *key_tiles;     /* most rows first; every key is in one */
    uint32_t query_tile_count, key_tile_count;
    uint32_t rows, key_rows; /* without padding */
    uint64_t pairs;          /* query-key pairs of one head */
    uint64_t tile_pairs;     /* the same in whole tiles, without overhead */
};

/* False when out of memory; the list is to be finished either way. */
bool tile_list_build(const struct tile_plan *plan, struct tile_list *list);

void tile_list_fini(struct tile_list *list);

#endif
