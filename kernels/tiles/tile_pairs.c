#include "kernels/tiles/tile_pairs.h"

struct tile_walk tile_walk_begin(const struct tile_chunk *chunks, size_t count, uint32_t tokens)
{
    uint32_t rows = 0;
    for (size_t c = 0; c < count; c++)
        rows += chunks[c].length;
    uint32_t first = rows % tokens ? rows % tokens : tokens;
    return (struct tile_walk){ .chunks = chunks, .count = count, .tokens = tokens, .rows = first };
}

bool tile_next(struct tile_walk *walk, uint32_t *ret_rows, uint32_t *ret_last)
{
    if (walk->chunk == walk->count)
        return false;
    for (uint32_t missing = walk->rows; missing > 0;) {
        const struct tile_chunk *chunk = &walk->chunks[walk->chunk];
        uint32_t left = chunk->length - walk->offset;
        uint32_t taken = left < missing ? left : missing;
        missing -= taken;
        walk->offset += taken;
        *ret_last = chunk->start + walk->offset - 1;
        if (walk->offset == chunk->length) {
            walk->offset = 0;
            walk->chunk++;
        }
    }
    *ret_rows = walk->rows;
    walk->rows = walk->tokens;
    return true;
}

static uint64_t whole_columns(uint64_t visible, uint32_t columns)
{
    return (visible + columns - 1) / columns;
}

uint64_t tile_cost(const struct tile_shape *shape, uint32_t visible)
{
    uint64_t columns = whole_columns(visible, shape->columns) * shape->columns;
    return shape->tokens * (columns + shape->overhead);
}

uint64_t tiles_pairs(const struct tile_shape *shape, const struct tile_chunk *chunks, size_t count)
{
    struct tile_walk walk = tile_walk_begin(chunks, count, shape->tokens);
    uint64_t pairs = 0;
    uint32_t rows, last = 0;
    while (tile_next(&walk, &rows, &last))
        pairs += tile_cost(shape, last + 1);
    return pairs;
}

uint64_t tile_pairs(uint32_t tile, uint32_t start, uint32_t rows)
{
    if (rows == 0)
        return 0;
    uint64_t before = whole_columns(start, tile); /* column tiles before the first row */
    uint64_t full = rows / tile;
    /* Whole tile i (from 1) ends in column tile before + i; their sum is that of an arithmetic row.
     */
    uint64_t columns = full * before + full * (full + 1) / 2;
    uint64_t tiles = full;
    if (rows % tile != 0) {
        columns += whole_columns((uint64_t)start + rows, tile);
        tiles++;
    }
    return tile * (columns * tile + tiles * TILE_OVERHEAD_COLUMNS);
}
