/*
 * Over random micro-batches, ranks and tiles, and at their corners: hybrid keeps the rules of every
 * CP shard plan, and is never predicted to be slower than per-sequence and per-document.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/permutation.h"
#include "support/cp_rules.h"

#define MOST_PIECES 300

struct draw {
    uint64_t seed, count;
};

static uint32_t draw(struct draw *from, uint32_t least, uint32_t most)
{
    return least + (uint32_t)(mix_keys(from->seed, from->count++) % (most - least + 1));
}

static void plan(struct cp_options options, enum cp_strategy strategy, const struct piece *pieces,
                 size_t count, struct cp_shards *shards)
{
    struct error err = { 0 };
    options.strategy = strategy;
    cr_assert_eq(cp_shard(&options, pieces, count, shards, &err), 0, "%s", err.text);
    const char *broken = cp_rule_broken(&options, pieces, count, shards);
    cr_assert_null(broken, "%s: %s (%zu pieces, %u ranks, tile %u)", cp_strategy_name(strategy),
                   broken ? broken : "", count, options.ranks, options.tile);
}

static void check_same(const struct cp_options *options, const struct cp_shards *a,
                       const struct cp_shards *b)
{
    cr_assert_eq(a->used, b->used);
    cr_assert_eq(a->chunk_count, b->chunk_count);
    cr_assert(a->chunk_count == 0 ||
              !memcmp(a->chunks, b->chunks, a->chunk_count * sizeof *a->chunks));
    cr_assert(!memcmp(a->ranks, b->ranks, options->ranks * sizeof *a->ranks));
}

/* `reused` has planned other micro-batches before, so it must leave no trace of them. */
static void check(struct cp_options options, const struct piece *pieces, size_t count,
                  struct cp_shards *reused)
{
    struct cp_shards by_sequence = { 0 }, by_document = { 0 }, fresh = { 0 };
    plan(options, CP_PER_SEQUENCE, pieces, count, &by_sequence);
    plan(options, CP_PER_DOCUMENT, pieces, count, &by_document);
    plan(options, CP_HYBRID, pieces, count, &fresh);
    plan(options, CP_HYBRID, pieces, count, reused);
    check_same(&options, &fresh, reused);
    uint64_t hybrid = cp_busiest(&options, &fresh);
    cr_assert_leq(hybrid, cp_busiest(&options, &by_sequence));
    cr_assert_leq(hybrid, cp_busiest(&options, &by_document));
    /* Few cuts: two a rank on the ring, one in the filler, as many each time two are dealt anew. */
    if (fresh.used == CP_HYBRID)
        cr_assert_leq(fresh.chunk_count, count + 1 + 3 * (options.ranks - 1) + 6 * options.ranks);
    else
        check_same(&options, &fresh, fresh.used == CP_PER_SEQUENCE ? &by_sequence : &by_document);
    cp_shards_fini(&by_sequence);
    cp_shards_fini(&by_document);
    cp_shards_fini(&fresh);
}

static struct cp_options random_options(struct draw *from)
{
    return (struct cp_options){ .ranks = draw(from, 1, 16),
                                .tile =
                                    draw(from, 0, 2) ? 1u << draw(from, 0, 8) : draw(from, 1, 256),
                                .pad_to_multiple = draw(from, 1, 9) };
}

static size_t random_pieces(struct draw *from, struct piece pieces[MOST_PIECES])
{
    size_t count = draw(from, 0, draw(from, 0, 3) ? 40 : MOST_PIECES);
    uint32_t most = 1u << draw(from, 0, 13);
    for (size_t i = 0; i < count; i++)
        pieces[i] = (struct piece){ .document = i, .length = draw(from, 1, most) };
    for (uint32_t giants = draw(from, 0, 2); giants > 0 && count > 0; giants--)
        pieces[draw(from, 0, (uint32_t)count - 1)].length = draw(from, 1, 20000);
    return count;
}

Test(property_cp_hybrid, random_microbatches, .timeout = 240)
{
    static struct piece pieces[MOST_PIECES];
    struct cp_shards reused = { 0 };
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        struct draw from = { seed, 0 };
        size_t count = random_pieces(&from, pieces);
        check(random_options(&from), pieces, count, &reused);
    }
    cp_shards_fini(&reused);
}

static void check_everywhere(const struct piece *pieces, size_t count)
{
    struct cp_shards reused = { 0 };
    for (uint32_t ranks = 1; ranks <= 16; ranks++)
        for (uint32_t tile = 1; tile <= 256; tile = tile * 3 + 1)
            check((struct cp_options){ .ranks = ranks, .tile = tile, .pad_to_multiple = 1 }, pieces,
                  count, &reused);
    cp_shards_fini(&reused);
}

static void check_equal_lengths(size_t count, uint32_t length)
{
    static struct piece pieces[MOST_PIECES];
    for (size_t i = 0; i < count; i++)
        pieces[i] = (struct piece){ .document = i, .length = length };
    check_everywhere(pieces, count);
}

Test(property_cp_hybrid, no_pieces)
{
    check_equal_lengths(0, 0);
}

Test(property_cp_hybrid, one_token_pieces, .timeout = 240)
{
    check_equal_lengths(MOST_PIECES, 1);
}

Test(property_cp_hybrid, equal_lengths, .timeout = 240)
{
    const uint32_t lengths[] = { 2, 127, 128, 129, 1000, 4096 };
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t count = 1; count <= 27; count += 13)
            check_equal_lengths(count, lengths[i]);
}

Test(property_cp_hybrid, one_giant_piece, .timeout = 240)
{
    check_equal_lengths(1, 131072);
}

Test(property_cp_hybrid, one_giant_among_one_token_pieces, .timeout = 240)
{
    static struct piece pieces[MOST_PIECES];
    for (size_t i = 0; i < MOST_PIECES; i++)
        pieces[i] = (struct piece){ .document = i, .length = i == 100 ? 50000 : 1 };
    check_everywhere(pieces, MOST_PIECES);
}

Test(property_cp_hybrid, fewer_tokens_than_ranks)
{
    for (size_t count = 1; count <= 5; count++)
        for (uint32_t length = 1; length <= 3; length++)
            check_equal_lengths(count, length);
}

/* The most ranks there may be, with tiles that are larger than a rank's share. */
Test(property_cp_hybrid, many_ranks)
{
    struct cp_shards reused = { 0 };
    struct piece pieces[] = { { .length = 90000 }, { .length = 41 }, { .length = 7000 } };
    for (uint32_t ranks = 64; ranks <= CP_MAX_RANKS; ranks *= 4)
        check((struct cp_options){ .ranks = ranks, .tile = 128, .pad_to_multiple = 1 }, pieces, 3,
              &reused);
    cp_shards_fini(&reused);
}

/* More pieces than are tried as the start of an arc. */
Test(property_cp_hybrid, many_pieces, .timeout = 240)
{
    enum { MANY = 5000 };
    static struct piece pieces[MANY];
    struct draw from = { 3, 0 };
    for (size_t i = 0; i < MANY; i++)
        pieces[i] = (struct piece){ .document = i, .length = draw(&from, 1, 30) };
    struct cp_shards reused = { 0 };
    check((struct cp_options){ .ranks = 8, .tile = 128, .pad_to_multiple = 1 }, pieces, MANY,
          &reused);
    cp_shards_fini(&reused);
}
