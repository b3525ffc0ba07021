/* The same bits whatever happens around: other block counts, orders of warps, times of copies. */
#include <criterion/criterion.h>
#include <string.h>

#include "kernels/emulation/options.h"
#include "rank_run.h"

static const uint32_t lengths[] = { 150, 1, 40, 77, 200, 9 };
enum { PIECES = sizeof lengths / sizeof *lengths };

/* A rank that has some of every piece. */
static const ballast_attention_chunk chunks[] = { { 0, 20, 70 }, { 0, 100, 50 }, { 1, 0, 1 },
                                                  { 2, 0, 40 },  { 3, 5, 1 },    { 3, 9, 60 },
                                                  { 4, 0, 30 },  { 4, 31, 169 } };

static struct rank_results run(const struct microbatch *batch, const struct rank_options *options)
{
    ballast_attention_plan plan = BALLAST_ATTENTION_PLAN_INIT;
    plan.piece_count = PIECES;
    plan.cu_seqlens = batch->cu_seqlens;
    plan.chunks = chunks;
    plan.chunk_count = sizeof chunks / sizeof *chunks;
    plan.padded_tokens = 430;
    struct results results;
    struct rank_results bits;
    results_init(&results, batch);
    rank_run(batch, &plan, options, &results, &bits);
    results_fini(&results);
    return bits;
}

static void expect_same(const struct rank_results *expected, struct rank_results found,
                        const char *what)
{
    cr_expect_eq(expected->count, found.count);
    cr_expect_eq(memcmp(expected->bytes, found.bytes, found.count), 0, "%s: other bits", what);
    rank_results_fini(&found);
}

static void check_path(const struct microbatch *batch, ballast_attention_path path)
{
    struct rank_results expected = run(batch, &(struct rank_options){ .path = path });
    expect_same(&expected, run(batch, &(struct rank_options){ .path = path }), "again");
    for (uint32_t blocks = 1; blocks <= 64; blocks *= 8)
        expect_same(&expected, run(batch, &(struct rank_options){ .path = path, .blocks = blocks }),
                    "blocks");
    for (uint32_t heads = 1; heads <= 2; heads++)
        expect_same(&expected,
                    run(batch, &(struct rank_options){ .path = path, .heads_at_once = heads }),
                    "groups of heads");
    const struct emulation_options usual = emulation_get_options();
    for (int landing = EMULATION_LATE; landing <= EMULATION_MIXED; landing++) {
        struct emulation_options options = usual;
        options.landing = (enum emulation_landing)landing;
        options.seed = 100U + (unsigned)landing;
        emulation_set_options(&options);
        expect_same(&expected, run(batch, &(struct rank_options){ .path = path }), "landing");
    }
    emulation_set_options(&usual);
    rank_results_fini(&expected);
}

Test(determinism, same_bits_however_it_is_run)
{
    ballast_attention_layout layout = BALLAST_ATTENTION_LAYOUT_INIT;
    layout.heads = 6;
    layout.kv_heads = 3;
    layout.head_dim = 64;
    struct microbatch batch;
    microbatch_init(&batch, &layout, lengths, PIECES, 3);
    check_path(&batch, BALLAST_ATTENTION_PATH_MMA);
    check_path(&batch, BALLAST_ATTENTION_PATH_WGMMA);
    microbatch_fini(&batch);
}
