/*
 * Kernel tiles over CP ranks: what the busiest rank computes over its even share.
 *
 *     bench_tile_area CP [WINDOW] < LENGTHS     document lengths, one a line; window default 131072
 *
 * Tiles have 128 rows and take 64 keys at a time. One line of JSON a strategy:
 *   own          128 query rows of one head, every chunk by itself
 *   shared       the same, but the chunks of a piece share tiles
 *   packed_2..8  so many query heads of a KV head share a tile, with 128 rows in all
 * Strategies that look at predicted tiles are told rows = 128 / heads, but not less than 32.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "support/tile_area.h"

enum { TILE_ROWS = 128, TILE_COLUMNS = 64 };

struct lengths {
    uint32_t *values;
    size_t count, capacity;
};

static void expect(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "bench_tile_area: %s\n", what);
    exit(1);
}

static struct lengths read_lengths(FILE *file)
{
    struct lengths read = { 0 };
    unsigned length;
    while (fscanf(file, "%u", &length) == 1) {
        expect(length > 0, "a document without tokens");
        expect(grow(read.values, &read.capacity, read.count + 1), "memory");
        read.values[read.count++] = length;
    }
    expect(read.count > 0 && feof(file), "not one length a line");
    return read;
}

static double measure(enum cp_strategy strategy, uint32_t ranks, uint32_t heads,
                      enum tile_sharing sharing, const struct lengths *lengths, uint32_t window)
{
    uint32_t tokens = TILE_ROWS / heads;
    struct cp_options options = { strategy, ranks, tokens < 32 ? 32 : tokens,
                                  .pad_to_multiple = 1 };
    struct tile_shape shape = { tokens, TILE_COLUMNS, 0 };
    return tile_area_over_ideal(&options, &shape, sharing, lengths->values, lengths->count, window);
}

int main(int argc, char **argv)
{
    expect(argc >= 2, "usage: bench_tile_area CP [WINDOW] < LENGTHS");
    uint32_t ranks = (uint32_t)strtoul(argv[1], NULL, 10);
    uint32_t window = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 131072;
    expect(ranks >= 1 && ranks <= CP_MAX_RANKS && window > 0, "CP or WINDOW is out of range");
    struct lengths lengths = read_lengths(stdin);
    for (int s = 0; s < CP_STRATEGY_COUNT; s++) {
        printf("{\"strategy\": \"%s\", \"own\": %.3f, \"shared\": %.3f",
               cp_strategy_name((enum cp_strategy)s),
               measure((enum cp_strategy)s, ranks, 1, TILES_OF_CHUNKS, &lengths, window),
               measure((enum cp_strategy)s, ranks, 1, TILES_SHARED, &lengths, window));
        for (uint32_t heads = 2; heads <= 8; heads *= 2)
            printf(", \"packed_%u\": %.3f", heads,
                   measure((enum cp_strategy)s, ranks, heads, TILES_SHARED, &lengths, window));
        printf("}\n");
        fflush(stdout);
    }
    free(lengths.values);
    return 0;
}
