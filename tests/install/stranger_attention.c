/*
 * A program that has nothing of the kernels but what was installed. It needs no GPU: a problem is
 * made on the host, and where a device is asked for and there is none, a status must say so.
 */
#include <ballast/attention.h>
#include <stdio.h>

/* Names that the library may use inside: neither gets in the way of the other. */
int launch(void);
int tile_list(void);

int launch(void)
{
    return 1;
}

int tile_list(void)
{
    return 2;
}

int main(void)
{
    const uint32_t cu_seqlens[] = { 0, 300, 428 };
    const ballast_attention_chunk chunks[] = { { 0, 0, 150 }, { 1, 64, 64 } };
    ballast_attention_layout layout = BALLAST_ATTENTION_LAYOUT_INIT;
    ballast_attention_plan plan = BALLAST_ATTENTION_PLAN_INIT;
    ballast_attention_problem *problem;
    ballast_attention_error error = { "" };
    ballast_attention_facts facts;
    layout.heads = 8;
    layout.kv_heads = 2;
    layout.head_dim = 128;
    plan.piece_count = 2;
    plan.cu_seqlens = cu_seqlens;
    plan.chunks = chunks;
    plan.chunk_count = 2;
    ballast_attention_status status =
        ballast_attention_problem_new(&layout, &plan, &problem, &error);
    if (status != BALLAST_ATTENTION_OK) {
        fprintf(stderr, "%s: %s\n", ballast_attention_status_text(status), error.text);
        return 1;
    }
    ballast_attention_get_facts(problem, &facts);
    status = ballast_attention_upload(problem, NULL, 0, NULL, &error);
    ballast_attention_problem_free(problem);
    if (status != BALLAST_ATTENTION_INVALID || launch() + tile_list() != 3) {
        fprintf(stderr, "no workspace at all: found status %d\n", (int)status);
        return 1;
    }
    if (facts.local_tokens != 214 || facts.key_tokens != 428 ||
        facts.pairs != 150 * 151 / 2 + (65 + 128) * 64 / 2) {
        fprintf(stderr, "found %u tokens, %u keys, %llu pairs\n", facts.local_tokens,
                facts.key_tokens, (unsigned long long)facts.pairs);
        return 1;
    }
    puts(ballast_attention_version());
    return 0;
}
