/* Plans of all ranks: what is refused, with which words, and where rows go. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cp/plan_check.h"
#include "kernels/cp/problem.h"
#include "kernels/cp/row_map.h"
#include "kernels/cp/rows.h"

/* Pieces of 5 and 3 tokens on two ranks: 0 1 4 | 0, and 2 3 | 1 2. */
struct example {
    uint32_t cu_seqlens[3], rank_chunks[3];
    ballast_attention_chunk chunks[5];
    ballast_attention_cp_plan plan;
    ballast_attention_layout layout;
};

static void example_init(struct example *example)
{
    *example = (struct example){
        .cu_seqlens = { 0, 5, 8 },
        .rank_chunks = { 0, 3, 5 },
        .chunks = { { 0, 0, 2 }, { 0, 4, 1 }, { 1, 0, 1 }, { 0, 2, 2 }, { 1, 1, 2 } },
        .plan = BALLAST_ATTENTION_CP_PLAN_INIT,
        .layout = BALLAST_ATTENTION_LAYOUT_INIT,
    };
    example->plan.ranks = 2;
    example->plan.piece_count = 2;
    example->plan.cu_seqlens = example->cu_seqlens;
    example->plan.rank_chunks = example->rank_chunks;
    example->plan.chunks = example->chunks;
    example->plan.padded_tokens = 6;
    example->layout.heads = 12;
    example->layout.kv_heads = 6;
    example->layout.head_dim = 64;
}

/* Makes a problem; returns the status, and the error's text until the next call. */
static ballast_attention_status try(const struct example *example, const char **ret_text)
{
    static ballast_attention_error error;
    ballast_attention_cp_problem *problem = NULL;
    strcpy(error.text, "no error");
    ballast_attention_status status =
        ballast_attention_cp_problem_new(&example->layout, &example->plan, &problem, &error);
    cr_assert_eq(problem != NULL, status == BALLAST_ATTENTION_OK);
    ballast_attention_cp_problem_free(problem);
    *ret_text = error.text;
    return status;
}

#define cr_assert_refused(example, words)                                                          \
    do {                                                                                           \
        const char *text_;                                                                         \
        cr_assert_eq(try(example, &text_), BALLAST_ATTENTION_INVALID);                             \
        cr_assert(strstr(text_, words), "%s", text_);                                              \
    } while (0)

Test(plan, a_good_one_is_taken)
{
    struct example example;
    const char *text;
    for (uint32_t rank = 0; rank < 2; rank++)
        for (int ring = 0; ring < 2; ring++) {
            example_init(&example);
            example.plan.rank = rank;
            example.plan.variant =
                ring ? BALLAST_ATTENTION_CP_RING : BALLAST_ATTENTION_CP_ALL_GATHER;
            cr_assert_eq(try(&example, &text), BALLAST_ATTENTION_OK, "%s", text);
        }
}

Test(plan, rows_go_there_and_back)
{
    struct example example;
    struct row_map map = { 0 };
    example_init(&example);
    cr_assert(row_map_init(&example.plan, &map));
    const uint32_t exchanged[8] = { 0, 1, 6, 7, 2, 3, 8, 9 };
    const uint32_t token[12] = {
        0, 1, 4, 5, ROWS_NONE, ROWS_NONE, 2, 3, 6, 7, ROWS_NONE, ROWS_NONE
    };
    cr_assert_eq(map.tokens, 8);
    cr_assert_eq(map.exchanged_rows, 12);
    cr_assert_arr_eq(map.exchanged, exchanged, sizeof exchanged);
    cr_assert_arr_eq(map.token, token, sizeof token);
    cr_assert_eq(row_map_hole(&map), UINT32_MAX);
    row_map_fini(&map);
}

Test(plan, heads_are_cut_evenly_or_not_at_all)
{
    struct example example;
    example_init(&example);
    example.plan.kv_head_groups = 4;
    cr_assert_refused(&example, "6 KV heads cannot be cut into 4 groups");
    example.plan.kv_head_groups = 7;
    cr_assert_refused(&example, "6 KV heads cannot be cut into 7 groups");
    example.plan.kv_head_groups = 2;
    example.plan.variant = BALLAST_ATTENTION_CP_RING;
    cr_assert_refused(&example, "a ring sends all KV heads");
    example_init(&example);
    example.layout.heads = 13;
    const char *text;
    cr_assert_eq(try(&example, &text), BALLAST_ATTENTION_INVALID, "%s", text);
}

Test(plan, groups_by_default_have_two_heads_or_more)
{
    const uint32_t expected[][2] = { { 1, 1 }, { 2, 1 }, { 3, 1 }, { 4, 2 },  { 5, 1 },
                                     { 6, 3 }, { 8, 4 }, { 9, 3 }, { 10, 2 }, { 16, 4 } };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct example example;
        uint32_t groups = 0;
        example_init(&example);
        example.layout.kv_heads = expected[i][0];
        cr_assert_eq(plan_groups(&example.layout, &example.plan, &groups, NULL),
                     BALLAST_ATTENTION_OK);
        cr_assert_eq(groups, expected[i][1], "%u heads: %u", expected[i][0], groups);
    }
}

Test(plan, every_token_must_be_on_one_rank)
{
    struct example example;
    example_init(&example);
    example.chunks[4].start = 0; /* tokens 5 twice, 7 not at all */
    cr_assert_refused(&example, "token 7 of the sequence is in none");
    example_init(&example);
    example.chunks[4].length = 1;
    cr_assert_refused(&example, "found 7 tokens in all, but the pieces have 8");
}

Test(plan, chunks_lie_in_their_pieces_and_in_order)
{
    struct example example;
    example_init(&example);
    example.chunks[3].length = 4;
    cr_assert_refused(&example, "chunk 3: found 4 tokens from 2, but piece 0 has 5");
    example_init(&example);
    example.chunks[2].piece = 2;
    cr_assert_refused(&example, "chunk 2: piece: found 2, expected less than 2");
    example_init(&example);
    example.chunks[1] = (ballast_attention_chunk){ 0, 1, 1 };
    cr_assert_refused(&example, "chunk 1: found token 1 of piece 0 after 0 of piece 0");
    example_init(&example);
    example.chunks[0].length = 0;
    cr_assert_refused(&example, "chunk 0: found 0 tokens");
}

Test(plan, ranks_have_room_and_numbers)
{
    struct example example;
    example_init(&example);
    example.plan.padded_tokens = 3;
    cr_assert_refused(&example, "padded_tokens: found 3, but rank 0 holds 4");
    example_init(&example);
    example.plan.rank = 2;
    cr_assert_refused(&example, "rank: found 2, expected 0 to 1");
    example_init(&example);
    example.plan.ranks = 0;
    cr_assert_refused(&example, "ranks: found 0");
    example_init(&example);
    example.rank_chunks[1] = 6;
    cr_assert_refused(&example, "rank_chunks: found 5 after 6");
    example_init(&example);
    example.plan.padded_tokens = UINT32_MAX / 2;
    cr_assert_refused(&example, "padded_tokens: found 2147483647 on 2 ranks");
    example_init(&example);
    example.plan.chunks = NULL;
    cr_assert_refused(&example, "chunks: found NULL");
    example_init(&example);
    example.plan.size = 8;
    cr_assert_refused(&example, "BALLAST_ATTENTION_CP_PLAN_INIT");
    example_init(&example);
    example.plan.variant = (ballast_attention_cp_variant)7;
    cr_assert_refused(&example, "variant: found 7");
}

Test(plan, the_workspace_must_be_there)
{
    struct example example;
    ballast_attention_cp_problem *problem;
    ballast_attention_error error;
    example_init(&example);
    cr_assert_eq(ballast_attention_cp_problem_new(&example.layout, &example.plan, &problem, &error),
                 BALLAST_ATTENTION_OK);
    size_t bytes = ballast_attention_cp_workspace_bytes(problem);
    unsigned char *memory = NULL;
    cudaMalloc((void **)&memory, bytes);
    cr_assert_eq(ballast_attention_cp_upload(problem, NULL, bytes, NULL, &error),
                 BALLAST_ATTENTION_INVALID);
    cr_assert_eq(ballast_attention_cp_upload(problem, memory + 128, bytes, NULL, &error),
                 BALLAST_ATTENTION_INVALID);
    cr_assert_eq(ballast_attention_cp_upload(problem, memory, bytes - 1, NULL, &error),
                 BALLAST_ATTENTION_INVALID);
    cr_assert_eq(ballast_attention_cp_upload(problem, memory, bytes, NULL, &error),
                 BALLAST_ATTENTION_OK, "%s", error.text);
    ballast_attention_cp_problem_free(problem);
    cudaFree(memory);
}
