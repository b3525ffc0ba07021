/* What kernel tiles cost the busiest CP rank, over an even share of the query-key pairs. */
#ifndef BALLAST_TESTS_TILE_AREA_H
#define BALLAST_TESTS_TILE_AREA_H

#include <stddef.h>
#include <stdint.h>

#include "cp/cp.h"
#include "kernels/tiles/tile_pairs.h"

enum tile_sharing {
    TILES_OF_CHUNKS, /* every chunk has tiles of its own */
    TILES_SHARED     /* the chunks of a piece share tiles: tiles_pairs, as the kernels list them */
};

/*
 * Micro-batches of `window` tokens, filled with the lengths one after another and cutting what
 * does not fit, as policy plain does; the last one may be short. Over all of them, the area of the
 * busiest rank's tiles over that of its even share. Aborts when out of memory.
 */
double tile_area_over_ideal(const struct cp_options *options, const struct tile_shape *shape,
                            enum tile_sharing sharing, const uint32_t *lengths, size_t count,
                            uint32_t window);

#endif
