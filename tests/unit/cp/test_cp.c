#include <criterion/criterion.h>
#include <stdlib.h>

#include "support/cp_rules.h"

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

static void check_shards(struct cp_options options, const struct cp_shards *shards,
                         const struct example *example)
{
    const char *broken = cp_rule_broken(&options, example->pieces, example->count, shards);
    cr_assert_null(broken, "%s", broken ? broken : "");
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
    check_shards(options_of(CP_PER_DOCUMENT, 2), &shards, &example);
    cr_assert_eq(shards.padded_tokens, 4);
    cp_shards_fini(&shards);
}

Test(cp, one_rank_owns_whole_pieces)
{
    struct example example = example_of(3, (uint32_t[]){ 5, 1, 100 });
    for (int strategy = CP_PER_SEQUENCE; strategy < CP_STRATEGY_COUNT; strategy++) {
        struct cp_options options = options_of((enum cp_strategy)strategy, 1);
        struct cp_shards shards = shard(options, &example);
        cr_assert_eq(shards.chunk_count, 3);
        check_shards(options, &shards, &example);
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

Test(cp, random_pieces_keep_every_rule)
{
    srand(7);
    for (int round = 0; round < 400; round++) {
        struct example example = { .count = (size_t)(rand() % MOST) };
        uint32_t ranks = 1u + (uint32_t)rand() % 16;
        for (size_t i = 0; i < example.count; i++)
            example.pieces[i].length = 1u + (uint32_t)rand() % (rand() % 4 ? 40 : 3000);
        struct cp_shards plans[CP_STRATEGY_COUNT];
        uint64_t busiest[CP_STRATEGY_COUNT];
        for (int strategy = CP_PER_SEQUENCE; strategy < CP_STRATEGY_COUNT; strategy++) {
            struct cp_options options = options_of((enum cp_strategy)strategy, ranks);
            plans[strategy] = shard(options, &example);
            check_shards(options, &plans[strategy], &example);
            busiest[strategy] = cp_busiest(&options, &plans[strategy]);
        }
        uint64_t better = busiest[CP_PER_SEQUENCE] < busiest[CP_PER_DOCUMENT]
                              ? busiest[CP_PER_SEQUENCE]
                              : busiest[CP_PER_DOCUMENT];
        cr_assert_eq(busiest[CP_ADAPTIVE], better);
        cr_assert_leq(busiest[CP_HYBRID], better);
        for (int strategy = 0; strategy < CP_STRATEGY_COUNT; strategy++)
            cp_shards_fini(&plans[strategy]);
    }
}

Test(cp, reusing_shards_leaves_no_trace)
{
    struct example large = example_of(3, (uint32_t[]){ 900, 30, 77 });
    struct example small = example_of(1, (uint32_t[]){ 9 });
    struct cp_options options = options_of(CP_HYBRID, 3);
    struct cp_shards reused = { 0 };
    struct error err = { 0 };
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(cp_shard(&options, large.pieces, large.count, &reused, &err), 0);
        check_shards(options, &reused, &large);
        cr_assert_eq(cp_shard(&options, small.pieces, small.count, &reused, &err), 0);
        check_shards(options, &reused, &small);
    }
    cp_shards_fini(&reused);
}
