/* As little as can be done on several ranks: what a sanitizer has the time for. */
#include "right.h"

static void cr_assert_small_right(ballast_attention_cp_variant variant, enum cp_strategy strategy)
{
    struct job job = {
        .strategy = strategy,
        .ranks = 2,
        .lengths = { 5, 1 },
        .heads = 2,
        .kv_heads = 2,
        .head_dim = 64,
        .path = BALLAST_ATTENTION_PATH_MMA,
        .variant = variant,
        .kv_head_groups = variant == BALLAST_ATTENTION_CP_ALL_GATHER ? 2 : 0,
        .timeout_ms = { 600000, 600000 },
    };
    cr_assert_right(&job, 1);
}

Test(small, all_gather)
{
    cr_assert_small_right(BALLAST_ATTENTION_CP_ALL_GATHER, CP_PER_SEQUENCE);
}

Test(small, ring)
{
    cr_assert_small_right(BALLAST_ATTENTION_CP_RING, CP_PER_DOCUMENT);
}
