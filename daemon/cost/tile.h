/*
 * What the attention kernel really pays for a run of query rows: whole tiles (DESIGN section 7).
 * The kernels count their tiles with the same function.
 */
#ifndef BALLAST_COST_TILE_H
#define BALLAST_COST_TILE_H

#include <stdint.h>

/* Fixed cost of a tile, in key columns: launch, prologue and epilogue of one tile. */
#define TILE_OVERHEAD_COLUMNS 64

/*
 * Query-key pairs computed for rows [start, start + rows) of a piece, causal: `tile` rows at a
 * time, a partly filled tile costs a whole one, its columns are rounded up to whole tiles too.
 */
uint64_t tile_pairs(uint32_t tile, uint32_t start, uint32_t rows);

#endif
