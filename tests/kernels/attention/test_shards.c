/*
 * Sharded runs, rank after rank: rows put together and gradients of keys added up are those of the
 * whole micro-batch, on whichever paths. Communication is another test's matter.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "rank_run.h"
#include "shard_plan.h"

static void check_sharded(const struct microbatch *batch, const uint32_t *lengths,
                          enum cp_strategy strategy, uint32_t ranks)
{
    struct rank_options options = { .float_results = true };
    struct cp_shards shards = { 0 };
    struct results results;
    shard_pieces(strategy, ranks, lengths, batch->piece_count, &shards);
    results_init(&results, batch);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        ballast_attention_chunk *chunks;
        ballast_attention_plan plan =
            shard_plan(&shards, rank, batch->cu_seqlens, batch->piece_count, &chunks);
        options.path = rank % 2 ? BALLAST_ATTENTION_PATH_MMA : BALLAST_ATTENTION_PATH_WGMMA;
        rank_run(batch, &plan, &options, &results, NULL);
        free(chunks);
    }
    char what[64];
    snprintf(what, sizeof what, "%s, cp %u", cp_strategy_name(strategy), ranks);
    microbatch_check(batch, &results, what);
    results_fini(&results);
    cp_shards_fini(&shards);
}

static void check_strategies(const uint32_t *lengths, uint32_t pieces, uint32_t ranks,
                             uint32_t heads, uint32_t kv_heads)
{
    ballast_attention_layout layout = BALLAST_ATTENTION_LAYOUT_INIT;
    layout.heads = heads;
    layout.kv_heads = kv_heads;
    layout.head_dim = 64;
    struct microbatch batch;
    microbatch_init(&batch, &layout, lengths, pieces, ranks);
    for (int s = 0; s < CP_STRATEGY_COUNT; s++)
        check_sharded(&batch, lengths, (enum cp_strategy)s, ranks);
    microbatch_fini(&batch);
}

static const uint32_t mixed[] = { 1, 210, 33, 4, 128, 17, 90 };
#define MIXED_PIECES (sizeof mixed / sizeof *mixed)

Test(shards, cp_1)
{
    check_strategies(mixed, MIXED_PIECES, 1, 2, 1);
}

Test(shards, cp_2)
{
    check_strategies(mixed, MIXED_PIECES, 2, 4, 2);
}

Test(shards, cp_4)
{
    check_strategies(mixed, MIXED_PIECES, 4, 4, 1);
}

Test(shards, cp_8)
{
    check_strategies(mixed, MIXED_PIECES, 8, 8, 1);
}

/* Pieces with every remainder that can be left over when they are cut 2 x cp times. */
Test(shards, remainders_of_every_size)
{
    for (uint32_t ranks = 2; ranks <= 8; ranks *= 2) {
        uint32_t lengths[16];
        for (uint32_t rest = 0; rest < 2 * ranks; rest++)
            lengths[rest] = 2 * ranks * (rest % 3) + (rest ? rest : 2 * ranks);
        check_strategies(lengths, 2 * ranks, ranks, 2, 2);
    }
}

/* Ranks that get no token at all, and pieces of which they get none. */
Test(shards, fewer_tokens_than_ranks)
{
    const uint32_t lengths[] = { 1, 2 };
    check_strategies(lengths, 2, 8, 2, 1);
}

/* The size by which the emulation's speed is judged (tests/bench/RESEARCH.md). */
Test(shards, two_thousand_tokens_over_cp_4)
{
    const uint32_t lengths[] = { 1021, 515, 383, 129 };
    ballast_attention_layout layout = BALLAST_ATTENTION_LAYOUT_INIT;
    layout.heads = layout.kv_heads = 2;
    layout.head_dim = 64;
    struct microbatch batch;
    microbatch_init(&batch, &layout, lengths, 4, 1);
    check_sharded(&batch, lengths, CP_PER_DOCUMENT, 4);
    microbatch_fini(&batch);
}
