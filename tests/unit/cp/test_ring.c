#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/permutation.h"
#include "cp/arc_search.h"
#include "kernels/tiles/tile_pairs.h"

#define TILE 16

static void add(struct ring *ring, uint32_t piece, uint32_t start, uint32_t length)
{
    struct error err = { 0 };
    cr_assert_eq(ring_add(ring, (struct chunk){ piece, start, length }, &err), 0, "%s", err.text);
}

static void sum(struct ring *ring)
{
    struct error err = { 0 };
    cr_assert_eq(ring_sum(ring, &err), 0, "%s", err.text);
}

static void check_chunk(struct chunk chunk, uint32_t piece, uint32_t start, uint32_t length)
{
    cr_expect_eq(chunk.piece, piece);
    cr_expect_eq(chunk.start, start);
    cr_expect_eq(chunk.length, length);
}

Test(ring, sums_arcs_across_its_seam)
{
    struct ring ring = { 0 };
    ring_clear(&ring, TILE);
    add(&ring, 0, 0, 40);
    add(&ring, 1, 32, 50);
    add(&ring, 2, 0, 0); /* nothing */
    sum(&ring);
    cr_assert_eq(ring.count, 2);
    cr_expect_eq(ring_tokens(&ring), 90);
    cr_expect_eq(ring_pairs(&ring), tile_pairs(TILE, 0, 40) + tile_pairs(TILE, 32, 50));
    struct place from = { 1, 16 }, to = { 2, 32 };
    cr_expect_eq(ring_arc_tokens(&ring, from, to), 34 + 32);
    cr_expect_eq(ring_arc_pairs(&ring, from, to),
                 tile_pairs(TILE, 48, 34) + tile_pairs(TILE, 0, 32));
    ring_fini(&ring);
}

Test(ring, goes_on_where_an_arc_was_taken)
{
    struct ring ring = { 0 };
    struct cp_shards shards = { 0 };
    struct cp_rank rank = { 0 };
    struct error err = { 0 };
    ring_clear(&ring, TILE);
    add(&ring, 0, 0, 40);
    add(&ring, 1, 32, 50);
    sum(&ring);
    int status =
        ring_take(&ring, (struct place){ 1, 16 }, (struct place){ 2, 32 }, &shards, &rank, &err);
    cr_assert_eq(status, 0, "%s", err.text);
    cr_assert_eq(rank.count, 2);
    cr_expect_eq(rank.tokens, 66);
    check_chunk(shards.chunks[0], 1, 48, 34);
    check_chunk(shards.chunks[1], 0, 0, 32);
    cr_assert_eq(ring.count, 2);
    check_chunk(ring.runs[0], 0, 32, 8);
    check_chunk(ring.runs[1], 1, 32, 16);
    cp_shards_fini(&shards);
    ring_fini(&ring);
}

Test(ring, an_arc_out_of_one_run_leaves_two)
{
    struct ring ring = { 0 };
    struct cp_shards shards = { 0 };
    struct cp_rank rank = { 0 };
    struct error err = { 0 };
    ring_clear(&ring, TILE);
    add(&ring, 7, 0, 100);
    sum(&ring);
    int status =
        ring_take(&ring, (struct place){ 0, 32 }, (struct place){ 0, 64 }, &shards, &rank, &err);
    cr_assert_eq(status, 0, "%s", err.text);
    check_chunk(shards.chunks[0], 7, 32, 32);
    cr_assert_eq(ring.count, 2);
    check_chunk(ring.runs[0], 7, 64, 36);
    check_chunk(ring.runs[1], 7, 0, 32);
    cp_shards_fini(&shards);
    ring_fini(&ring);
}

Test(filler, is_taken_across_runs_and_again)
{
    struct filler filler = { 0 };
    struct cp_shards shards = { 0 };
    struct error err = { 0 };
    cr_assert_eq(filler_add(&filler, (struct chunk){ 3, 0, 5 }, &err), 0);
    cr_assert_eq(filler_add(&filler, (struct chunk){ 1, 0, 20 }, &err), 0);
    for (int round = 0; round < 2; round++) {
        filler_rewind(&filler);
        shards.chunk_count = 0;
        struct cp_rank rank = { 0 };
        cr_assert_eq(filler.tokens, 25);
        cr_expect_eq(filler_pairs(&filler, TILE, 8),
                     tile_pairs(TILE, 0, 5) + tile_pairs(TILE, 0, 3));
        cr_assert_eq(filler_take(&filler, 8, &shards, &rank, &err), 0);
        cr_assert_eq(filler.tokens, 17);
        cr_expect_eq(filler_pairs(&filler, TILE, 17), tile_pairs(TILE, 3, 17));
        cr_assert_eq(filler_take(&filler, 17, &shards, &rank, &err), 0);
        cr_assert_eq(rank.count, 2);
        check_chunk(shards.chunks[0], 3, 0, 5);
        check_chunk(shards.chunks[1], 1, 0, 20);
    }
    filler_clear(&filler);
    cr_expect_eq(filler.tokens, 0);
    filler_fini(&filler);
    cp_shards_fini(&shards);
}

/* The smallest distance from the goal over all starts where a tile does, and both ends of each. */
static uint64_t least_off(const struct ring *ring, const struct filler *filler,
                          const struct share *share)
{
    uint64_t least = UINT64_MAX, wanted = share->tokens - share->from_filler;
    for (size_t run = 0; run < ring->count; run++)
        for (uint32_t offset = 0; offset < ring->runs[run].length; offset += TILE) {
            struct place from = { run, offset };
            uint64_t target = ring->tokens[run] + offset + wanted;
            size_t end = run;
            while (end + 1 < 2 * ring->count && ring->tokens[end + 1] <= target)
                end++;
            uint32_t length = ring_run(ring, end)->length;
            uint64_t whole = (target - ring->tokens[end]) / TILE * TILE;
            for (uint64_t at = whole; at <= whole + TILE; at += TILE) {
                struct place to = { end, at < length ? (uint32_t)at : length };
                uint64_t taken = ring_arc_tokens(ring, from, to);
                if (taken > share->tokens || share->tokens - taken > filler->tokens ||
                    taken > ring_tokens(ring))
                    continue;
                uint64_t pairs = ring_arc_pairs(ring, from, to) +
                                 filler_pairs(filler, TILE, share->tokens - taken);
                uint64_t off = pairs > share->pairs ? pairs - share->pairs : share->pairs - pairs;
                least = off < least ? off : least;
            }
        }
    return least;
}

Test(arc_search, finds_what_trying_every_arc_finds)
{
    struct ring ring = { 0 };
    struct filler filler = { 0 };
    struct error err = { 0 };
    cr_assert_eq(filler_add(&filler, (struct chunk){ 99, 0, 40 }, &err), 0);
    for (uint64_t seed = 0; seed < 2000; seed++) {
        ring_clear(&ring, TILE);
        for (uint32_t i = 0; i <= seed % 9; i++) {
            uint32_t random = (uint32_t)mix_keys(seed, i);
            add(&ring, i, random % 5 * TILE, 1 + (random >> 8) % (random % 3 ? 90 : 900));
        }
        sum(&ring);
        uint32_t ranks = 2 + (uint32_t)(seed % 4);
        struct share share = { .tokens = (ring_tokens(&ring) + filler.tokens) / ranks,
                               .from_filler = filler.tokens / ranks,
                               .pairs = ring_pairs(&ring) / ranks };
        if (share.from_filler > share.tokens)
            continue;
        uint64_t least = least_off(&ring, &filler, &share);
        struct arc arc = { .off = UINT64_MAX };
        cr_assert_eq(arc_search(&ring, &filler, &share, &arc), least != UINT64_MAX);
        cr_assert_eq(arc.off, least, "seed %llu: %llu, not %llu", (unsigned long long)seed,
                     (unsigned long long)arc.off, (unsigned long long)least);
    }
    filler_fini(&filler);
    ring_fini(&ring);
}
