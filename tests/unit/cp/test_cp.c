#include <criterion/criterion.h>
#include <stdlib.h>

#include "cost/tile.h"
#include "cp/cp.h"

#define MOST 64

struct example {
    struct piece pieces[MOST];
    size_t count;
};

static struct example example_of(size_t count, const uint32_t *lengths)
{
    struct example example = { .count = count };
    for (size_t i = 0; i < count; i++)
        example.pieces[i] = (struct piece){ .document = i, .length = lengths[i] };
    return example;
}

static struct cp_shards shard(struct cp_options options, const struct example *example)
{
    struct cp_shards shards = { 0 };
    struct error err = { 0 };
    cr_assert_eq(cp_shard(&options, example->pieces, example->count, &shards, &err), 0, "%s",
                 err.text);
    return shards;
}

static struct cp_options options_of(enum cp_strategy strategy, uint32_t ranks)
{
    return (struct cp_options){
        .strategy = strategy, .ranks = ranks, .tile = 128, .pad_to_multiple = 1
    };
}

/* Query-key pairs a rank computes, exactly, without tiles. */
static uint64_t pairs_of_rank(const struct cp_shards *shards, uint32_t rank)
{
    uint64_t pairs = 0;
    for (uint32_t c = 0; c < shards->ranks[rank].count; c++) {
        const struct chunk *chunk = &shards->chunks[shards->ranks[rank].first + c];
        for (uint32_t i = 0; i < chunk->length; i++)
            pairs += chunk->start + i + 1;
    }
    return pairs;
}

/* Every token of every piece on exactly one rank, and totals that differ by at most one. */
static void check_shards(const struct cp_shards *shards, const struct example *example,
                         uint32_t ranks)
{
    uint32_t least = UINT32_MAX, most = 0, first = 0;
    unsigned char **owned = calloc(example->count + 1, sizeof *owned);
    for (size_t i = 0; i < example->count; i++)
        owned[i] = calloc(example->pieces[i].length, 1);
    for (uint32_t r = 0; r < ranks; r++) {
        const struct cp_rank *rank = &shards->ranks[r];
        uint32_t tokens = 0;
        uint64_t attention = 0;
        cr_assert_eq(rank->first, first);
        first += rank->count;
        for (uint32_t c = rank->first; c < rank->first + rank->count; c++) {
            struct chunk chunk = shards->chunks[c];
            cr_assert_lt(chunk.piece, example->count);
            cr_assert_geq(chunk.length, 1);
            cr_assert_leq(chunk.start + chunk.length, example->pieces[chunk.piece].length);
            for (uint32_t i = 0; i < chunk.length; i++)
                cr_assert_eq(owned[chunk.piece][chunk.start + i]++, 0);
            tokens += chunk.length;
            attention += tile_pairs(128, chunk.start, chunk.length);
        }
        cr_assert_eq(rank->tokens, tokens);
        cr_assert_eq(rank->attention, attention);
        least = tokens < least ? tokens : least;
        most = tokens > most ? tokens : most;
    }
    cr_assert_eq(first, shards->chunk_count);
    cr_assert_leq(most - least, 1, "rank totals %u to %u", least, most);
    for (size_t i = 0; i < example->count; i++) {
        for (uint32_t t = 0; t < example->pieces[i].length; t++)
            cr_assert_eq(owned[i][t], 1, "piece %zu token %u on no rank", i, t);
        free(owned[i]);
    }
    free(owned);
}

/* Offsets 0, 8, 16 at cp 2: rank 0 owns sequence positions 0, 1, 6, 7, 8, 9, 14, 15. */
Test(cp, golden_two_documents_of_eight)
{
    struct example example = example_of(2, (uint32_t[]){ 8, 8 });
    struct cp_shards shards = shard(options_of(CP_PER_DOCUMENT, 2), &example);
    uint32_t positions[16], count = 0;
    for (uint32_t c = 0; c < shards.ranks[0].count; c++)
        for (uint32_t i = 0; i < shards.chunks[c].length; i++)
            positions[count++] = shards.chunks[c].piece * 8 + shards.chunks[c].start + i;
    uint32_t expected[] = { 0, 1, 6, 7, 8, 9, 14, 15 };
    cr_assert_eq(count, 8);
    for (uint32_t i = 0; i < 8; i++)
        cr_assert_eq(positions[i], expected[i]);
    cp_shards_fini(&shards);
}

/* pytorch/pytorch#189902: documents of 4 and 12 at cp 2. */
Test(cp, golden_four_and_twelve)
{
    struct example example = example_of(2, (uint32_t[]){ 4, 12 });
    struct cp_shards by_document = shard(options_of(CP_PER_DOCUMENT, 2), &example);
    cr_assert_eq(pairs_of_rank(&by_document, 0), 44);
    cr_assert_eq(pairs_of_rank(&by_document, 1), 44);
    struct cp_shards by_sequence = shard(options_of(CP_PER_SEQUENCE, 2), &example);
    cr_assert_eq(pairs_of_rank(&by_sequence, 0), 52);
    cr_assert_eq(pairs_of_rank(&by_sequence, 1), 36);
    cp_shards_fini(&by_document);
    cp_shards_fini(&by_sequence);
}

/* NVIDIA/TransformerEngine#1930: length 7 at cp 2 must keep all seven tokens. */
Test(cp, seven_tokens_at_two_ranks)
{
    struct example example = example_of(1, (uint32_t[]){ 7 });
    struct cp_shards shards = shard(options_of(CP_PER_DOCUMENT, 2), &example);
    check_shards(&shards, &example, 2);
    cr_assert_eq(shards.padded_tokens, 4);
    cp_shards_fini(&shards);
}

Test(cp, one_rank_owns_whole_pieces)
{
    struct example example = example_of(3, (uint32_t[]){ 5, 1, 100 });
    for (int strategy = CP_PER_SEQUENCE; strategy <= CP_ADAPTIVE; strategy++) {
        struct cp_shards shards = shard(options_of((enum cp_strategy)strategy, 1), &example);
        cr_assert_eq(shards.chunk_count, 3);
        check_shards(&shards, &example, 1);
        cp_shards_fini(&shards);
    }
}

Test(cp, empty_microbatch)
{
    struct example example = { .count = 0 };
    struct cp_shards shards = shard(options_of(CP_ADAPTIVE, 4), &example);
    cr_assert_eq(shards.chunk_count, 0);
    cr_assert_eq(shards.padded_tokens, 0);
    cp_shards_fini(&shards);
}

Test(cp, padding_to_a_multiple)
{
    struct example example = example_of(2, (uint32_t[]){ 100, 31 });
    struct cp_options options = options_of(CP_PER_DOCUMENT, 4);
    options.pad_to_multiple = 16;
    struct cp_shards shards = shard(options, &example);
    cr_assert_eq(shards.padded_tokens, 48); /* 131 / 4 -> 33 -> 48 */
    cp_shards_fini(&shards);
}

static uint64_t busiest(const struct cp_shards *shards, uint32_t ranks)
{
    uint64_t most = 0;
    for (uint32_t r = 0; r < ranks; r++)
        most = shards->ranks[r].attention > most ? shards->ranks[r].attention : most;
    return most;
}

Test(cp, random_pieces_keep_every_rule)
{
    srand(7);
    for (int round = 0; round < 400; round++) {
        struct example example = { .count = (size_t)(rand() % MOST) };
        uint32_t ranks = 1u + (uint32_t)rand() % 16;
        for (size_t i = 0; i < example.count; i++)
            example.pieces[i].length = 1u + (uint32_t)rand() % (rand() % 4 ? 40 : 3000);
        struct cp_shards plans[3];
        for (int strategy = CP_PER_SEQUENCE; strategy <= CP_ADAPTIVE; strategy++) {
            plans[strategy] = shard(options_of((enum cp_strategy)strategy, ranks), &example);
            check_shards(&plans[strategy], &example, ranks);
        }
        uint64_t by_sequence = busiest(&plans[0], ranks), by_document = busiest(&plans[1], ranks);
        cr_assert_eq(busiest(&plans[CP_ADAPTIVE], ranks),
                     by_sequence < by_document ? by_sequence : by_document);
        for (int strategy = 0; strategy < 3; strategy++)
            cp_shards_fini(&plans[strategy]);
    }
}

Test(cp, reusing_shards_leaves_no_trace)
{
    struct example large = example_of(3, (uint32_t[]){ 900, 30, 77 });
    struct example small = example_of(1, (uint32_t[]){ 9 });
    struct cp_options options = options_of(CP_ADAPTIVE, 3);
    struct cp_shards reused = { 0 };
    struct error err = { 0 };
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(cp_shard(&options, large.pieces, large.count, &reused, &err), 0);
        check_shards(&reused, &large, 3);
        cr_assert_eq(cp_shard(&options, small.pieces, small.count, &reused, &err), 0);
        check_shards(&reused, &small, 3);
    }
    cp_shards_fini(&reused);
}
