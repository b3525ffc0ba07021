/* Attention over CP ranks is attention: outputs and gradients against the unsharded reference. */
#include <criterion/criterion.h>
#include <string.h>

#include "nccl_stand_in.h"
#include "right.h"

static const ballast_attention_cp_variant variants[] = { BALLAST_ATTENTION_CP_ALL_GATHER,
                                                         BALLAST_ATTENTION_CP_RING };

/* All shardings at a number of ranks, in both variants; types, heads and paths take turns. */
static void cr_assert_all_right(uint32_t ranks)
{
    for (int strategy = 0; strategy < CP_STRATEGY_COUNT; strategy++)
        for (int variant = 0; variant < 2; variant++) {
            bool odd = (strategy + variant) % 2;
            struct job job = {
                .strategy = (enum cp_strategy)strategy,
                .ranks = ranks,
                .lengths = { 200, 1, 77, 31, 130, 2 },
                .type = odd ? BALLAST_ATTENTION_F16 : BALLAST_ATTENTION_BF16,
                .heads = 4,
                .kv_heads = strategy < 2 ? 2 : 4,
                .head_dim = 64,
                .path = strategy / 2 == variant ? BALLAST_ATTENTION_PATH_MMA
                                                : BALLAST_ATTENTION_PATH_AUTO,
                .variant = variants[variant],
                .pad_to_multiple = odd ? 1 : 16,
            };
            cr_assert_right(&job, (uint32_t)(strategy * 2 + variant));
        }
}

Test(shards, cp_1)
{
    cr_assert_all_right(1);
}

Test(shards, cp_2)
{
    cr_assert_all_right(2);
}

Test(shards, cp_4)
{
    cr_assert_all_right(4);
}

Test(shards, cp_8)
{
    cr_assert_all_right(8);
}

/* Pieces of more than one tile on every rank: 2K tokens, the yardstick of the emulation's speed. */
Test(shards, four_pieces_on_four_ranks)
{
    struct job job = {
        .strategy = CP_HYBRID,
        .ranks = 4,
        .lengths = { 1100, 500, 300, 148 },
        .heads = 2,
        .kv_heads = 2,
        .head_dim = 64,
        .variant = BALLAST_ATTENTION_CP_ALL_GATHER,
    };
    cr_assert_right(&job, 4);
}

/* Query heads of a KV head, and head dimensions. */
Test(shards, heads)
{
    const uint32_t heads[][3] = { { 8, 8, 64 },  { 8, 2, 64 },  { 8, 1, 64 },
                                  { 4, 1, 128 }, { 3, 3, 128 }, { 16, 2, 128 } };
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        for (int variant = 0; variant < 2; variant++) {
            struct job job = {
                .strategy = CP_PER_DOCUMENT,
                .ranks = 2,
                .lengths = { 5, 140, 30 },
                .type = i % 2 ? BALLAST_ATTENTION_F16 : BALLAST_ATTENTION_BF16,
                .heads = heads[i][0],
                .kv_heads = heads[i][1],
                .head_dim = heads[i][2],
                .variant = variants[variant],
            };
            cr_assert_right(&job, (uint32_t)i);
        }
}

/* More ranks than tokens, tokens that all see but themselves, and no padding to speak of. */
Test(shards, next_to_nothing)
{
    const uint32_t lengths[][4] = { { 1 }, { 1, 1, 1 }, { 3, 1 }, { 17 } };
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int variant = 0; variant < 2; variant++) {
            struct job job = {
                .strategy = i % 2 ? CP_PER_SEQUENCE : CP_PER_DOCUMENT,
                .ranks = 8,
                .pad_to_multiple = i % 2 ? 8 : 1,
                .heads = 2,
                .kv_heads = 2,
                .head_dim = 64,
                .variant = variants[variant],
            };
            memcpy(job.lengths, lengths[i], sizeof lengths[i]);
            cr_assert_right(&job, (uint32_t)i);
        }
}

static void cr_assert_same(const struct job *job, const struct job_results *one,
                           const struct job_results *other)
{
    size_t queries = (size_t)job->tokens * job->heads * job->head_dim * sizeof(double);
    size_t keys = (size_t)job->tokens * job->kv_heads * job->head_dim * sizeof(double);
    cr_assert_arr_eq(one->out, other->out, queries);
    cr_assert_arr_eq(one->lse, other->lse, (size_t)job->tokens * job->heads * sizeof(double));
    cr_assert_arr_eq(one->q_gradient, other->q_gradient, queries);
    cr_assert_arr_eq(one->k_gradient, other->k_gradient, keys);
    cr_assert_arr_eq(one->v_gradient, other->v_gradient, keys);
}

/* Runs the job and compares it with `first`, or fills that. */
static void cr_assert_repeats(struct job *job, struct job_results *first, bool is_first)
{
    struct job_results results;
    struct job_rank ranks[JOB_MOST_RANKS];
    cr_assert(job_init(job, 1));
    cr_assert(job_results_init(job, is_first ? first : &results));
    job_run(job, is_first ? first : &results, ranks);
    for (uint32_t i = 0; i < job->ranks; i++)
        cr_assert_eq(ranks[i].run, BALLAST_ATTENTION_OK, "rank %u: %s", i, ranks[i].error.text);
    if (!is_first) {
        cr_assert_same(job, first, &results);
        job_results_fini(&results);
    }
    job_fini(job);
}

/* Ranks that are late, NCCL that makes us poll, and groups of heads change no bit. */
Test(shards, results_do_not_depend_on_timing_or_groups)
{
    const struct nccl_stand_in_fault faults[] = { { 0 }, { .late_ms = 3 }, { .polls = 3 } };
    for (int variant = 0; variant < 2; variant++) {
        struct job_results first;
        for (uint32_t i = 0; i < 6; i++) {
            const uint32_t groups[] = { 0, 1, 2, 4 };
            struct job job = {
                .strategy = CP_HYBRID,
                .ranks = 3,
                .lengths = { 90, 20, 150 },
                .heads = 4,
                .kv_heads = 4,
                .head_dim = 64,
                .variant = variants[variant],
                .kv_head_groups = variant == 0 ? groups[i % 4] : 0,
                .gradient_type = BALLAST_ATTENTION_F32,
            };
            nccl_stand_in_set_fault((int)(i % 3), &faults[i % 3]);
            cr_assert_repeats(&job, &first, i == 0);
        }
        job_results_fini(&first);
    }
    cr_assert_clean();
}
