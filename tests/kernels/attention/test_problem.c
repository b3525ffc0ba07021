/* What problems and calls refuse, and how; and what a problem says of itself. */
#include <criterion/criterion.h>
#include <cuda_runtime.h>
#include <string.h>

#include <ballast/attention.h>

static const uint32_t cu_seqlens[] = { 0, 100, 130 };
static const ballast_attention_chunk chunks[] = { { 0, 10, 20 }, { 0, 40, 60 }, { 1, 0, 30 } };

static ballast_attention_layout good_layout(void)
{
    ballast_attention_layout layout = BALLAST_ATTENTION_LAYOUT_INIT;
    layout.heads = 8;
    layout.kv_heads = 2;
    layout.head_dim = 64;
    return layout;
}

static ballast_attention_plan good_plan(void)
{
    ballast_attention_plan plan = BALLAST_ATTENTION_PLAN_INIT;
    plan.piece_count = 2;
    plan.cu_seqlens = cu_seqlens;
    plan.chunks = chunks;
    plan.chunk_count = 3;
    plan.padded_tokens = 112;
    return plan;
}

static void expect_refused(const ballast_attention_layout *layout,
                           const ballast_attention_plan *plan, ballast_attention_status expected,
                           const char *word)
{
    ballast_attention_problem *problem = NULL;
    ballast_attention_error error = { "" };
    ballast_attention_status status = ballast_attention_problem_new(layout, plan, &problem, &error);
    cr_expect_eq(status, expected, "%s: status %d, %s", word, (int)status, error.text);
    cr_expect_null(problem);
    cr_expect_not_null(strstr(error.text, word), "'%s' does not name '%s'", error.text, word);
    cr_expect_eq(ballast_attention_problem_new(layout, plan, &problem, NULL), expected);
}

static ballast_attention_problem *good_problem(void)
{
    ballast_attention_layout layout = good_layout();
    ballast_attention_plan plan = good_plan();
    ballast_attention_problem *problem = NULL;
    ballast_attention_error error = { "" };
    cr_assert_eq(ballast_attention_problem_new(&layout, &plan, &problem, &error),
                 BALLAST_ATTENTION_OK, "%s", error.text);
    return problem;
}

Test(problem, refuses_layouts)
{
    ballast_attention_plan plan = good_plan();
    struct {
        ballast_attention_layout layout;
        ballast_attention_status status;
        const char *word;
    } cases[] = {
        { good_layout(), BALLAST_ATTENTION_INVALID, "version 2" },
        { good_layout(), BALLAST_ATTENTION_INVALID, "size 3" },
        { good_layout(), BALLAST_ATTENTION_INVALID, "type 2" },
        { good_layout(), BALLAST_ATTENTION_INVALID, "8 query heads for 3" },
        { good_layout(), BALLAST_ATTENTION_INVALID, "for 0 KV heads" },
        { good_layout(), BALLAST_ATTENTION_INVALID, "scale" },
        { good_layout(), BALLAST_ATTENTION_INVALID, "path 9" },
        { good_layout(), BALLAST_ATTENTION_UNSUPPORTED, "head dimension 96" },
        { good_layout(), BALLAST_ATTENTION_UNSUPPORTED, "65 query heads" },
    };
    cases[0].layout.version = 2;
    cases[1].layout.size = 3;
    cases[2].layout.type = BALLAST_ATTENTION_F32;
    cases[3].layout.kv_heads = 3;
    cases[4].layout.kv_heads = 0;
    cases[5].layout.scale = 1e38F * 1e38F;
    cases[6].layout.path = (ballast_attention_path)9;
    cases[7].layout.head_dim = 96;
    cases[8].layout.heads = 65;
    cases[8].layout.kv_heads = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_refused(&cases[i].layout, &plan, cases[i].status, cases[i].word);
}

Test(problem, refuses_plans)
{
    static const uint32_t not_from_0[] = { 1, 100, 130 }, falling[] = { 0, 100, 90 };
    static const uint32_t huge[] = { 0, 100, 1U << 30 };
    static const ballast_attention_chunk beyond[] = { { 0, 90, 11 } }, empty[] = { { 0, 3, 0 } };
    static const ballast_attention_chunk no_piece[] = { { 2, 0, 1 } };
    static const ballast_attention_chunk backwards[] = { { 1, 0, 3 }, { 0, 0, 3 } };
    static const ballast_attention_chunk overlapping[] = { { 0, 0, 3 }, { 0, 2, 3 } };
    static const struct {
        const uint32_t *cu_seqlens;
        const ballast_attention_chunk *chunks;
        uint32_t count, padded;
        ballast_attention_status status;
        const char *word;
    } cases[] = {
        { NULL, chunks, 3, 0, BALLAST_ATTENTION_INVALID, "cu_seqlens" },
        { not_from_0, chunks, 3, 0, BALLAST_ATTENTION_INVALID, "cu_seqlens" },
        { falling, chunks, 3, 0, BALLAST_ATTENTION_INVALID, "piece 1" },
        { huge, chunks, 3, 0, BALLAST_ATTENTION_UNSUPPORTED, "tokens" },
        { cu_seqlens, NULL, 3, 0, BALLAST_ATTENTION_INVALID, "chunks is NULL" },
        { cu_seqlens, chunks, 3, 109, BALLAST_ATTENTION_INVALID, "109 padded" },
        { cu_seqlens, beyond, 1, 0, BALLAST_ATTENTION_INVALID, "chunks[0]" },
        { cu_seqlens, empty, 1, 0, BALLAST_ATTENTION_INVALID, "chunks[0]" },
        { cu_seqlens, no_piece, 1, 0, BALLAST_ATTENTION_INVALID, "chunks[0]" },
        { cu_seqlens, backwards, 2, 0, BALLAST_ATTENTION_INVALID, "chunks[1]" },
        { cu_seqlens, overlapping, 2, 0, BALLAST_ATTENTION_INVALID, "chunks[1]" },
    };
    ballast_attention_layout layout = good_layout();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ballast_attention_plan plan = good_plan();
        plan.cu_seqlens = cases[i].cu_seqlens;
        plan.chunks = cases[i].chunks;
        plan.chunk_count = cases[i].count;
        plan.padded_tokens = cases[i].padded;
        expect_refused(&layout, &plan, cases[i].status, cases[i].word);
    }
    ballast_attention_plan plan = good_plan();
    plan.key_chunks = backwards;
    plan.key_chunk_count = 2;
    expect_refused(&layout, &plan, BALLAST_ATTENTION_INVALID, "key_chunks[1]");
}

Test(problem, says_what_it_comes_to)
{
    ballast_attention_problem *problem = good_problem();
    ballast_attention_facts facts;
    ballast_attention_get_facts(problem, &facts);
    cr_expect_eq(facts.local_tokens, 110);
    cr_expect_eq(facts.padded_tokens, 112);
    cr_expect_eq(facts.key_tokens, 130);
    cr_expect_eq(facts.query_tiles, 5); /* 32 tokens of 4 heads: 80 in 3, 30 in 1, padding in 1 */
    cr_expect_eq(facts.key_tiles, 2);
    uint64_t pairs = 0;
    for (uint32_t position = 10; position < 30; position++)
        pairs += position + 1;
    for (uint32_t position = 40; position < 100; position++)
        pairs += position + 1;
    cr_expect_eq(facts.pairs, pairs + 30 * 31 / 2);
    cr_expect_geq(facts.tile_pairs, facts.pairs);
    cr_expect_gt(ballast_attention_workspace_bytes(problem), 0);
    ballast_attention_problem_free(problem);
    ballast_attention_problem_free(NULL);
}

Test(problem, has_a_text_for_every_status)
{
    for (int status = BALLAST_ATTENTION_OK; status <= BALLAST_ATTENTION_ABORTED; status++)
        cr_expect_neq(strcmp(ballast_attention_status_text((ballast_attention_status)status),
                             "unknown status"),
                      0);
    cr_expect_str_eq(ballast_attention_status_text((ballast_attention_status)99), "unknown status");
    cr_expect_not_null(ballast_attention_version());
}

static ballast_attention_forward_call good_call(void *memory)
{
    ballast_attention_forward_call call = BALLAST_ATTENTION_FORWARD_INIT;
    call.q = call.k = call.v = memory;
    call.out = memory;
    call.lse = memory;
    return call;
}

static void expect_call_refused(const ballast_attention_problem *problem,
                                const ballast_attention_forward_call *call,
                                ballast_attention_status expected, const char *word)
{
    ballast_attention_error error = { "" };
    cr_expect_eq(ballast_attention_forward(problem, call, NULL, &error), expected, "%s", word);
    cr_expect_not_null(strstr(error.text, word), "'%s' does not name '%s'", error.text, word);
}

Test(problem, refuses_calls_that_cannot_be)
{
    ballast_attention_problem *problem = good_problem();
    ballast_attention_error error = { "" };
    size_t bytes = ballast_attention_workspace_bytes(problem);
    unsigned char *memory;
    cr_assert_eq(cudaMalloc((void **)&memory, bytes + 256), cudaSuccess);
    ballast_attention_forward_call call = good_call(memory);
    expect_call_refused(problem, &call, BALLAST_ATTENTION_INVALID, "upload");
    cr_expect_eq(ballast_attention_upload(problem, memory, bytes - 1, NULL, &error),
                 BALLAST_ATTENTION_INVALID);
    cr_expect_eq(ballast_attention_upload(problem, memory + 16, bytes, NULL, &error),
                 BALLAST_ATTENTION_INVALID);
    cr_expect_eq(ballast_attention_upload(problem, NULL, bytes, NULL, NULL),
                 BALLAST_ATTENTION_INVALID);
    cr_assert_eq(ballast_attention_upload(problem, memory, bytes, NULL, &error),
                 BALLAST_ATTENTION_OK);

    call.version = 7;
    expect_call_refused(problem, &call, BALLAST_ATTENTION_INVALID, "version 7");
    call = good_call(memory);
    call.kv_heads = (ballast_attention_heads){ 2, 0 };
    expect_call_refused(problem, &call, BALLAST_ATTENTION_INVALID, "KV heads from 2");
    call.kv_heads = (ballast_attention_heads){ 1, 2 };
    expect_call_refused(problem, &call, BALLAST_ATTENTION_INVALID, "KV heads from 1");
    call = good_call(memory);
    call.v = NULL;
    expect_call_refused(problem, &call, BALLAST_ATTENTION_INVALID, "v is");
    call = good_call(memory);
    call.q = memory + 8;
    expect_call_refused(problem, &call, BALLAST_ATTENTION_INVALID, "q is");
    call = good_call(memory);
    call.k_stride = 132;
    expect_call_refused(problem, &call, BALLAST_ATTENTION_INVALID, "k has rows 132");
    call.k_stride = 64;
    expect_call_refused(problem, &call, BALLAST_ATTENTION_INVALID, "k has rows 64");
    call = good_call(memory);
    call.out_type = BALLAST_ATTENTION_F16;
    expect_call_refused(problem, &call, BALLAST_ATTENTION_UNSUPPORTED, "out is F16");
    ballast_attention_backward_call backward = BALLAST_ATTENTION_BACKWARD_INIT;
    cr_expect_eq(ballast_attention_backward(problem, &backward, NULL, &error),
                 BALLAST_ATTENTION_INVALID);
    ballast_attention_problem_free(problem);
    cudaFree(memory);
}
