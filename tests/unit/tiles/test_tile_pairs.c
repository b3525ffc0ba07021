#include <criterion/criterion.h>

#include "kernels/tiles/tile_pairs.h"

/* The definition, row tile by row tile. */
static uint64_t slow_tile_pairs(uint32_t tile, uint32_t start, uint32_t rows)
{
    uint64_t pairs = 0;
    for (uint32_t row = 0; row < rows; row += tile) {
        uint64_t end = (uint64_t)start + (row + tile < rows ? row + tile : rows);
        uint64_t columns = (end + tile - 1) / tile * tile;
        pairs += tile * (columns + TILE_OVERHEAD_COLUMNS);
    }
    return pairs;
}

Test(tile, equals_its_definition)
{
    for (uint32_t tile = 1; tile <= 256; tile *= 4)
        for (uint32_t start = 0; start < 600; start += 37)
            for (uint32_t rows = 0; rows < 700; rows += 13)
                cr_assert_eq(tile_pairs(tile, start, rows), slow_tile_pairs(tile, start, rows),
                             "tile %u start %u rows %u", tile, start, rows);
}

Test(tile, a_partly_filled_tile_costs_a_whole_one)
{
    cr_assert_eq(tile_pairs(128, 0, 1), tile_pairs(128, 0, 128));
    cr_assert_eq(tile_pairs(128, 0, 128), 128 * (128 + TILE_OVERHEAD_COLUMNS));
}

Test(tile, large_pieces_do_not_overflow)
{
    uint32_t length = 1u << 26;
    uint64_t tiles = length / 128;
    cr_assert_eq(tile_pairs(128, 0, length),
                 128 * (tiles * (tiles + 1) / 2 * 128 + tiles * TILE_OVERHEAD_COLUMNS));
}

Test(tile, kernels_never_take_more_than_the_planner_counts)
{
    for (uint32_t tile = 1; tile <= 256; tile *= 4)
        for (uint32_t start = 0; start < 600; start += 37)
            for (uint32_t rows = 1; rows < 700; rows += 13) {
                struct tile_shape shape = { tile, tile, TILE_OVERHEAD_COLUMNS };
                struct tile_chunk chunks[] = { { 0, start, rows }, { 0, 2000, rows } };
                uint64_t one = tiles_pairs(&shape, chunks, 1),
                         both = tiles_pairs(&shape, chunks, 2);
                uint64_t planned = tile_pairs(tile, start, rows);
                cr_assert_leq(one, planned);
                cr_assert(start % tile != 0 || one == planned);
                cr_assert_leq(both, one + tiles_pairs(&shape, chunks + 1, 1));
            }
}

Test(tile, chunks_of_a_piece_share_tiles)
{
    struct tile_shape shape = { .tokens = 16, .columns = 64 };
    struct tile_chunk chunks[] = { { 0, 0, 10 }, { 0, 100, 3 }, { 0, 300, 7 } };
    /* 4 rows of the first chunk; its other 6, 3 of the second, 7 up to position 306. */
    cr_assert_eq(tiles_pairs(&shape, chunks, 3), 16 * 64 + 16 * 320);
    cr_assert_eq(tiles_pairs(&shape, chunks, 2), 16 * 128);
    cr_assert_eq(tiles_pairs(&shape, chunks, 0), 0);
}
