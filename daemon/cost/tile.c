#include "cost/tile.h"

uint64_t tile_pairs(uint32_t tile, uint32_t start, uint32_t rows)
{
    if (rows == 0)
        return 0;
    uint64_t before = ((uint64_t)start + tile - 1) / tile; /* column tiles before the first row */
    uint64_t full = rows / tile;
    /* Whole tile i (from 1) ends in column tile before + i; their sum is that of an arithmetic row.
     */
    uint64_t columns = full * before + full * (full + 1) / 2;
    uint64_t tiles = full;
    if (rows % tile != 0) {
        columns += ((uint64_t)start + rows + tile - 1) / tile;
        tiles++;
    }
    return tile * (columns * tile + tiles * TILE_OVERHEAD_COLUMNS);
}
