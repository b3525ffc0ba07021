/* Kernels on whole micro-batches, without sharding: every kind of piece, layout and type. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "rank_run.h"

enum { MOST_PIECES = 500 };

struct layout_case {
    uint32_t heads, kv_heads, head_dim;
    ballast_attention_type type;
};

static const struct rank_options plainly = { 0 };

static void check_run(const struct microbatch *batch, const ballast_attention_plan *plan,
                      const struct rank_options *options)
{
    const ballast_attention_layout *layout = &batch->layout;
    struct results results;
    results_init(&results, batch);
    rank_run(batch, plan, options, &results, NULL);
    char what[96];
    snprintf(what, sizeof what, "path %d, heads %u/%u of %u, type %d, %u pieces",
             (int)options->path, layout->heads, layout->kv_heads, layout->head_dim,
             (int)layout->type, batch->piece_count);
    microbatch_check(batch, &results, what);
    results_fini(&results);
}

/* On both paths. */
static void check(const struct layout_case *layout_case, const uint32_t *lengths, uint32_t pieces,
                  const struct rank_options *options)
{
    ballast_attention_layout layout = BALLAST_ATTENTION_LAYOUT_INIT;
    layout.heads = layout_case->heads;
    layout.kv_heads = layout_case->kv_heads;
    layout.head_dim = layout_case->head_dim;
    layout.type = layout_case->type;
    struct microbatch batch;
    microbatch_init(&batch, &layout, lengths, pieces, 7);
    ballast_attention_chunk chunks[MOST_PIECES];
    for (uint32_t p = 0; p < pieces; p++)
        chunks[p] = (ballast_attention_chunk){ p, 0, lengths[p] };
    ballast_attention_plan plan = BALLAST_ATTENTION_PLAN_INIT;
    plan.piece_count = plan.chunk_count = pieces;
    plan.cu_seqlens = batch.cu_seqlens;
    plan.chunks = chunks;
    plan.padded_tokens = batch.tokens + 5;
    for (int path = BALLAST_ATTENTION_PATH_MMA; path <= BALLAST_ATTENTION_PATH_WGMMA; path++) {
        struct rank_options with_path = *options;
        with_path.path = (ballast_attention_path)path;
        check_run(&batch, &plan, &with_path);
    }
    microbatch_fini(&batch);
}

static const uint32_t assorted[] = { 1, 1, 2, 15, 16, 17, 1, 63, 64, 65, 127, 128, 129, 3, 1 };
#define ASSORTED_PIECES (sizeof assorted / sizeof *assorted)

Test(attention, pieces_of_one_token_and_around_the_size_of_tiles_bf16)
{
    for (uint32_t dim = 64; dim <= 128; dim += 64)
        check(&(struct layout_case){ 1, 1, dim, BALLAST_ATTENTION_BF16 }, assorted, ASSORTED_PIECES,
              &plainly);
}

Test(attention, pieces_of_one_token_and_around_the_size_of_tiles_f16)
{
    for (uint32_t dim = 64; dim <= 128; dim += 64)
        check(&(struct layout_case){ 1, 1, dim, BALLAST_ATTENTION_F16 }, assorted, ASSORTED_PIECES,
              &plainly);
}

Test(attention, one_token_in_all)
{
    const uint32_t lengths[] = { 1 };
    check(&(struct layout_case){ 2, 1, 64, BALLAST_ATTENTION_BF16 }, lengths, 1, &plainly);
}

Test(attention, heads_that_share_keys)
{
    const uint32_t lengths[] = { 37, 5, 130 };
    const uint32_t groups[] = { 1, 3, 4, 8, 64 }; /* 3 leaves rows of a tile empty */
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        check(&(struct layout_case){ 2 * groups[g], 2, 64, BALLAST_ATTENTION_BF16 }, lengths,
              groups[g] == 64 ? 2 : 3, &plainly);
    check(&(struct layout_case){ 8, 1, 128, BALLAST_ATTENTION_F16 }, lengths, 3, &plainly);
    check(&(struct layout_case){ 4, 4, 128, BALLAST_ATTENTION_BF16 }, lengths, 3, &plainly);
}

Test(attention, one_giant_piece)
{
    const uint32_t lengths[] = { 1500 };
    check(&(struct layout_case){ 1, 1, 64, BALLAST_ATTENTION_BF16 }, lengths, 1, &plainly);
}

Test(attention, five_hundred_small_pieces)
{
    uint32_t lengths[MOST_PIECES];
    for (uint32_t p = 0; p < MOST_PIECES; p++)
        lengths[p] = 1 + p * 7 % 5;
    check(&(struct layout_case){ 2, 1, 64, BALLAST_ATTENTION_BF16 }, lengths, MOST_PIECES,
          &plainly);
}

Test(attention, results_in_float)
{
    const uint32_t lengths[] = { 70, 3, 140 };
    const struct rank_options options = { .float_results = true };
    check(&(struct layout_case){ 4, 2, 64, BALLAST_ATTENTION_BF16 }, lengths, 3, &options);
    check(&(struct layout_case){ 2, 2, 128, BALLAST_ATTENTION_F16 }, lengths, 3, &options);
}

Test(attention, rows_apart_and_heads_in_groups)
{
    const uint32_t lengths[] = { 70, 3, 140 };
    const struct rank_options apart = { .spread = 24 };
    const struct rank_options grouped = { .spread = 8, .heads_at_once = 2 };
    check(&(struct layout_case){ 4, 2, 64, BALLAST_ATTENTION_BF16 }, lengths, 3, &apart);
    check(&(struct layout_case){ 6, 3, 64, BALLAST_ATTENTION_BF16 }, lengths, 3, &grouped);
}
