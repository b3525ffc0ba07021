/* Tiles of a kernel that packs 8 query heads cost the busiest rank hardly more than its share. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "support/length_job.h"
#include "support/tile_area.h"

enum { RANKS = 8, WINDOW = 131072, DOCUMENTS = 2000 };

static double over_ideal(enum cp_strategy strategy, uint32_t heads, enum tile_sharing sharing,
                         const uint32_t *lengths)
{
    struct cp_options options = { strategy, RANKS, 128, .pad_to_multiple = 1 };
    struct tile_shape shape = { 128 / heads, 64, 0 };
    return tile_area_over_ideal(&options, &shape, sharing, lengths, DOCUMENTS, WINDOW);
}

Test(tile_area, sharing_and_packing_heads_bring_it_near_the_ideal)
{
    uint32_t *lengths = heavy_tailed_lengths(5, DOCUMENTS, WINDOW);
    for (int s = CP_PER_DOCUMENT; s < CP_STRATEGY_COUNT; s++) {
        enum cp_strategy strategy = (enum cp_strategy)s;
        double own = over_ideal(strategy, 1, TILES_OF_CHUNKS, lengths);
        double shared = over_ideal(strategy, 1, TILES_SHARED, lengths);
        double packed = over_ideal(strategy, 8, TILES_SHARED, lengths);
        const char *name = cp_strategy_name(strategy);
        cr_assert_leq(shared, own, "%s: %g, %g when shared", name, own, shared);
        cr_assert_leq(packed, shared, "%s: %g shared, %g packed", name, shared, packed);
        cr_assert_leq(packed, 1.10, "%s: %g", name, packed);
        cr_assert_geq(packed, 1.0);
    }
    free(lengths);
}

Test(tile_area, documents_of_some_2k_tokens_need_it_most)
{
    uint32_t lengths[DOCUMENTS];
    for (uint32_t i = 0; i < DOCUMENTS; i++)
        lengths[i] = 1000 + i * 7919 % 2000;
    double own = over_ideal(CP_PER_DOCUMENT, 1, TILES_OF_CHUNKS, lengths);
    double packed = over_ideal(CP_PER_DOCUMENT, 8, TILES_SHARED, lengths);
    cr_assert_geq(own, 1.5);
    cr_assert_leq(packed, 1.15);
}

/* Of the lengths in ../shared/data; skipped where they are not. */
static void check_file(const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/../shared/data/%s", BALLAST_SOURCE_DIR, name);
    FILE *file = fopen(path, "r");
    if (!file)
        cr_skip_test("%s is absent", path);
    uint32_t *lengths = NULL, length;
    size_t count = 0, capacity = 0;
    while (fscanf(file, "%" SCNu32, &length) == 1) {
        cr_assert(grow(lengths, &capacity, count + 1));
        lengths[count++] = length;
    }
    fclose(file);
    for (int s = CP_PER_DOCUMENT; s < CP_STRATEGY_COUNT; s++) {
        struct cp_options options = { (enum cp_strategy)s, RANKS, 128, .pad_to_multiple = 1 };
        struct tile_shape shape = { 128 / 8, 64, 0 };
        double area = tile_area_over_ideal(&options, &shape, TILES_SHARED, lengths, count, WINDOW);
        cr_assert_leq(area, 1.10, "%s, %s: %g", name, cp_strategy_name((enum cp_strategy)s), area);
    }
    free(lengths);
}

Test(tile_area, of_real_lengths_wlbllm)
{
    check_file("lengths-wlbllm.txt");
}

Test(tile_area, of_real_lengths_prolong)
{
    check_file("lengths-prolong.txt");
}
