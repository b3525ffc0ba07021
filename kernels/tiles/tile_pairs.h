/*
 * What attention of some query rows really costs: whole tiles (DESIGN section 7).
 *
 * A tile is what a thread block computes at a time: some query rows of one piece, all query heads
 * of one KV head, against all keys that the last of these rows sees. The kernels list their tiles
 * with tile_next; the planner counts with the same rounding.
 */
#ifndef BALLAST_TILES_TILE_PAIRS_H
#define BALLAST_TILES_TILE_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fixed cost of a tile in the planner's eyes, in key columns: prologue and epilogue. */
#define TILE_OVERHEAD_COLUMNS 64

/* A run of one piece's tokens that one rank owns. */
struct tile_chunk {
    uint32_t piece;  /* index within the micro-batch */
    uint32_t start;  /* first token, counted from the start of the piece */
    uint32_t length; /* tokens, at least 1 */
};

struct tile_shape {
    uint32_t tokens;   /* query rows of a tile, per head: fewer where more heads share a tile */
    uint32_t columns;  /* keys are taken so many at a time */
    uint32_t overhead; /* columns that every tile costs besides */
};

/*
 * The chunks of one piece on one rank, by start, being laid into tiles. All tiles but the first are
 * full: of all ways to lay rows into tiles that is the cheapest, since what a partly filled tile
 * wastes is least where rows see least.
 */
struct tile_walk {
    const struct tile_chunk *chunks;
    size_t count;
    uint32_t tokens; /* rows of a tile */
    uint32_t rows;   /* of the next tile */
    size_t chunk;    /* where it begins: chunk, and row of it, less than its length */
    uint32_t offset;
};

struct tile_walk tile_walk_begin(const struct tile_chunk *chunks, size_t count, uint32_t tokens);

/*
 * The next tile: *ret_rows rows, 1 to `tokens`, from as many chunks as it takes; the last has
 * position *ret_last in the piece. False at the end.
 */
bool tile_next(struct tile_walk *walk, uint32_t *ret_rows, uint32_t *ret_last);

/* Query-key pairs of one head that a tile computes whose last row sees `visible` keys. */
uint64_t tile_cost(const struct tile_shape *shape, uint32_t visible);

/* Query-key pairs of one head for the chunks of one piece, by start, that share tiles. */
uint64_t tiles_pairs(const struct tile_shape *shape, const struct tile_chunk *chunks, size_t count);

/*
 * What the planner prices its cuts with, at once: a single chunk, rows [start, start + rows), by
 * square tiles laid from its first row, so that prices of a run's parts add up where tiles end. The
 * kernels never compute more in tiles of that shape, and the same where a piece has one chunk which
 * starts where a tile does.
 */
uint64_t tile_pairs(uint32_t tile, uint32_t start, uint32_t rows);

#endif
