/* The path of wgmma and tensor copies, forward and backward: what is its own, and that it is taken
 * where it should be. */
#include <criterion/criterion.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/attention/path.h"
#include "kernels/emulation/options.h"
#include "rank_run.h"

static ballast_attention_layout layout_of(uint32_t group, uint32_t head_dim,
                                          ballast_attention_type type)
{
    ballast_attention_layout layout = BALLAST_ATTENTION_LAYOUT_INIT;
    layout.kv_heads = group < 8 ? 2 : 1;
    layout.heads = group * layout.kv_heads;
    layout.head_dim = head_dim;
    layout.type = type;
    layout.path = BALLAST_ATTENTION_PATH_WGMMA;
    return layout;
}

/* The chunks of a rank of `cp`, the same number of tokens at both ends of each piece. */
static uint32_t chunks_of_rank(const struct microbatch *batch, uint32_t rank, uint32_t cp,
                               ballast_attention_chunk *ret_chunks)
{
    uint32_t count = 0;
    for (uint32_t p = 0; p < batch->piece_count; p++) {
        uint32_t length = batch->cu_seqlens[p + 1] - batch->cu_seqlens[p];
        uint32_t ends[] = { rank, 2 * cp - 1 - rank };
        for (int i = 0; i < 2; i++) {
            uint32_t from = length * ends[i] / (2 * cp), to = length * (ends[i] + 1) / (2 * cp);
            if (to > from)
                ret_chunks[count++] = (ballast_attention_chunk){ p, from, to - from };
        }
    }
    return count;
}

static void check(const ballast_attention_layout *layout, const uint32_t *lengths, uint32_t pieces,
                  uint32_t cp, const struct rank_options *options)
{
    struct microbatch batch;
    microbatch_init(&batch, layout, lengths, pieces, 11);
    struct results results;
    results_init(&results, &batch);
    ballast_attention_chunk *chunks = calloc((size_t)pieces * 2, sizeof *chunks);
    cr_assert(chunks);
    for (uint32_t rank = 0; rank < cp; rank++) {
        ballast_attention_plan plan = BALLAST_ATTENTION_PLAN_INIT;
        plan.piece_count = pieces;
        plan.cu_seqlens = batch.cu_seqlens;
        plan.chunks = chunks;
        plan.chunk_count = chunks_of_rank(&batch, rank, cp, chunks);
        plan.padded_tokens = batch.tokens / cp + 2 * pieces;
        rank_run(&batch, &plan, options, &results, NULL);
    }
    char what[96];
    snprintf(what, sizeof what, "group %u, dim %u, type %d, cp %u",
             layout->heads / layout->kv_heads, layout->head_dim, (int)layout->type, cp);
    microbatch_check(&batch, &results, what);
    free(chunks);
    results_fini(&results);
    microbatch_fini(&batch);
}

/* Around the sizes of tiles, 128 keys and 128 packed rows, 64 of them a warpgroup. */
static const uint32_t lengths[] = { 1, 63, 64, 65, 127, 129, 193, 2 };
enum { PIECES = sizeof lengths / sizeof *lengths };

Test(sm90, groups_that_divide_a_tile_and_that_do_not)
{
    const uint32_t groups[] = { 1, 3, 8 };
    struct rank_options options = { 0 };
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        ballast_attention_layout layout = layout_of(
            groups[g], g % 2 ? 128 : 64, g % 2 ? BALLAST_ATTENTION_F16 : BALLAST_ATTENTION_BF16);
        check(&layout, lengths, PIECES, 1, &options);
    }
}

Test(sm90, shards)
{
    struct rank_options options = { .heads_at_once = 1, .spread = 8, .float_results = true };
    ballast_attention_layout layout = layout_of(4, 128, BALLAST_ATTENTION_BF16);
    check(&layout, lengths, PIECES, 2, &options);
}

Test(sm90, one_block_takes_every_tile)
{
    struct rank_options options = { .blocks = 1 };
    ballast_attention_layout layout = layout_of(2, 64, BALLAST_ATTENTION_F16);
    check(&layout, lengths, PIECES, 1, &options);
}

/* Copies land when they like and warps run in another order: the same bits. */
Test(sm90, results_do_not_depend_on_who_is_first)
{
    ballast_attention_layout layout = layout_of(2, 64, BALLAST_ATTENTION_BF16);
    struct microbatch batch;
    microbatch_init(&batch, &layout, lengths, PIECES, 5);
    ballast_attention_chunk chunks[2 * PIECES];
    ballast_attention_plan plan = BALLAST_ATTENTION_PLAN_INIT;
    plan.piece_count = PIECES;
    plan.cu_seqlens = batch.cu_seqlens;
    plan.chunks = chunks;
    plan.chunk_count = chunks_of_rank(&batch, 0, 1, chunks);
    struct emulation_options emulation = emulation_get_options();
    struct rank_results first = { 0 };
    for (unsigned run = 0; run < 4; run++) {
        emulation.seed = run + 1;
        emulation.landing = run % 2 ? EMULATION_MIXED : EMULATION_LATE;
        emulation_set_options(&emulation);
        struct rank_options options = { .blocks = 1 + run };
        struct results results;
        struct rank_results got;
        results_init(&results, &batch);
        rank_run(&batch, &plan, &options, &results, &got);
        results_fini(&results);
        if (run == 0) {
            first = got;
            continue;
        }
        cr_assert_eq(got.count, first.count);
        cr_assert_arr_eq(got.bytes, first.bytes, first.count);
        rank_results_fini(&got);
    }
    rank_results_fini(&first);
    microbatch_fini(&batch);
}

static ballast_attention_status status_on(int major, int minor, ballast_attention_path path)
{
    struct emulation_options emulation = emulation_get_options();
    emulation.capability_major = major;
    emulation.capability_minor = minor;
    emulation_set_options(&emulation);
    ballast_attention_layout layout = layout_of(1, 64, BALLAST_ATTENTION_BF16);
    layout.path = path;
    const struct attention_path *chosen;
    ballast_attention_error error;
    return attention_path_choose(&layout, &chosen, &error);
}

Test(sm90, is_taken_where_the_device_has_it)
{
    const struct attention_path *by_mma, *by_wgmma, *by_itself;
    ballast_attention_layout layout = layout_of(1, 64, BALLAST_ATTENTION_BF16);
    ballast_attention_error error;
    cr_assert_eq(attention_path_choose(&layout, &by_wgmma, &error), BALLAST_ATTENTION_OK);
    layout.path = BALLAST_ATTENTION_PATH_MMA;
    cr_assert_eq(attention_path_choose(&layout, &by_mma, &error), BALLAST_ATTENTION_OK);
    layout.path = BALLAST_ATTENTION_PATH_AUTO;
    cr_assert_eq(attention_path_choose(&layout, &by_itself, &error), BALLAST_ATTENTION_OK);
    cr_assert_eq(by_itself->forward, by_wgmma->forward);
    cr_assert_eq(by_itself->backward_keys, by_wgmma->backward_keys);
    cr_assert_neq(by_mma->forward, by_wgmma->forward);
    cr_assert_neq(by_mma->backward_keys, by_wgmma->backward_keys);
    cr_assert_neq(by_mma->backward_queries, by_wgmma->backward_queries);

    cr_assert_eq(status_on(8, 0, BALLAST_ATTENTION_PATH_WGMMA), BALLAST_ATTENTION_UNSUPPORTED);
    cr_assert_eq(status_on(10, 0, BALLAST_ATTENTION_PATH_WGMMA), BALLAST_ATTENTION_UNSUPPORTED);
    cr_assert_eq(status_on(8, 6, BALLAST_ATTENTION_PATH_AUTO), BALLAST_ATTENTION_OK);
    cr_assert_eq(status_on(7, 5, BALLAST_ATTENTION_PATH_AUTO), BALLAST_ATTENTION_UNSUPPORTED);
}
