/* Kernels on whole micro-batches, without sharding: every kind of piece, layout and type. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "rank_run.h"

static const ballast_attention_type types[] = { BALLAST_ATTENTION_BF16, BALLAST_ATTENTION_F16 };

static ballast_attention_layout layout_of(uint32_t heads, uint32_t kv_heads, uint32_t head_dim,
                                          ballast_attention_type type)
{
    ballast_attention_layout layout = BALLAST_ATTENTION_LAYOUT_INIT;
    layout.heads = heads;
    layout.kv_heads = kv_heads;
    layout.head_dim = head_dim;
    layout.type = type;
    return layout;
}

static void check(const ballast_attention_layout *layout, const uint32_t *lengths, uint32_t pieces,
                  const struct rank_options *options, const char *what)
{
    struct microbatch batch;
    microbatch_init(&batch, layout, lengths, pieces, 7);
    ballast_attention_chunk *chunks = calloc((size_t)pieces + 1, sizeof *chunks);
    cr_assert(chunks);
    for (uint32_t p = 0; p < pieces; p++)
        chunks[p] = (ballast_attention_chunk){ p, 0, lengths[p] };
    ballast_attention_plan plan = BALLAST_ATTENTION_PLAN_INIT;
    plan.piece_count = plan.chunk_count = pieces;
    plan.cu_seqlens = batch.cu_seqlens;
    plan.chunks = chunks;
    plan.padded_tokens = batch.tokens + 5;
    struct results results;
    results_init(&results, &batch);
    rank_run(&batch, &plan, options, &results, NULL);
    microbatch_check(&batch, &results, what);
    results_fini(&results);
    free(chunks);
    microbatch_fini(&batch);
}

Test(attention, pieces_of_one_token_and_around_the_size_of_tiles)
{
    const uint32_t lengths[] = { 1, 1, 2, 15, 16, 17, 1, 63, 64, 65, 127, 128, 129, 3, 1 };
    struct rank_options options = { 0 };
    for (size_t t = 0; t < 2; t++)
        for (uint32_t dim = 64; dim <= 128; dim += 64) {
            char what[64];
            snprintf(what, sizeof what, "type %zu, dim %u", t, dim);
            ballast_attention_layout layout = layout_of(2, 2, dim, types[t]);
            check(&layout, lengths, sizeof lengths / sizeof *lengths, &options, what);
        }
}
