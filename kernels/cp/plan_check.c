#include "kernels/cp/plan_check.h"

#include <stdbool.h>

#include "kernels/attention/error.h"

#define INVALID BALLAST_ATTENTION_INVALID

#define MOST_GROUPS 4 /* by default: what a fifth would hide is little */

static ballast_attention_status check_head(const ballast_attention_cp_plan *plan,
                                           ballast_attention_error *error)
{
    if (!plan || plan->size != sizeof *plan || plan->version != 1)
        return attention_error(error, INVALID,
                               "plan: expected BALLAST_ATTENTION_CP_PLAN_INIT of this version");
    if (plan->variant != BALLAST_ATTENTION_CP_ALL_GATHER &&
        plan->variant != BALLAST_ATTENTION_CP_RING)
        return attention_error(error, INVALID, "variant: found %d, expected ALL_GATHER or RING",
                               (int)plan->variant);
    if (plan->ranks < 1 || plan->ranks > BALLAST_ATTENTION_CP_MAX_RANKS)
        return attention_error(error, INVALID, "ranks: found %u, expected 1 to %d", plan->ranks,
                               BALLAST_ATTENTION_CP_MAX_RANKS);
    if (plan->rank >= plan->ranks)
        return attention_error(error, INVALID, "rank: found %u, expected 0 to %u", plan->rank,
                               plan->ranks - 1);
    if (!plan->cu_seqlens || !plan->rank_chunks || plan->cu_seqlens[0] || plan->rank_chunks[0])
        return attention_error(error, INVALID,
                               "cu_seqlens and rank_chunks: expected both, each beginning with 0");
    if ((uint64_t)plan->ranks * plan->padded_tokens >= INT32_MAX)
        return attention_error(error, INVALID,
                               "padded_tokens: found %u on %u ranks, expected less than %d "
                               "in all",
                               plan->padded_tokens, plan->ranks, INT32_MAX);
    return BALLAST_ATTENTION_OK;
}

static ballast_attention_status check_order(const char *name, const uint32_t *values,
                                            uint32_t count, ballast_attention_error *error)
{
    for (uint32_t i = 0; i < count; i++)
        if (values[i + 1] < values[i])
            return attention_error(error, INVALID,
                                   "%s: found %u after %u, expected them not to fall", name,
                                   values[i + 1], values[i]);
    return BALLAST_ATTENTION_OK;
}

static ballast_attention_status check_chunk(const ballast_attention_cp_plan *plan, uint32_t index,
                                            ballast_attention_error *error)
{
    const ballast_attention_chunk *chunk = &plan->chunks[index];
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): plan_check has looked */
    if (chunk->piece >= plan->piece_count)
        return attention_error(error, INVALID, "chunk %u: piece: found %u, expected less than %u",
                               index, chunk->piece, plan->piece_count);
    uint32_t length = plan->cu_seqlens[chunk->piece + 1] - plan->cu_seqlens[chunk->piece];
    if (chunk->length < 1 || (uint64_t)chunk->start + chunk->length > length)
        return attention_error(error, INVALID,
                               "chunk %u: found %u tokens from %u, but piece %u has %u", index,
                               chunk->length, chunk->start, chunk->piece, length);
    return BALLAST_ATTENTION_OK;
}

/* A chunk against the one before it on the same rank. */
static ballast_attention_status check_succession(const ballast_attention_cp_plan *plan,
                                                 uint32_t index, ballast_attention_error *error)
{
    const ballast_attention_chunk *before = &plan->chunks[index - 1], *chunk = before + 1;
    bool follows = chunk->piece > before->piece || (chunk->piece == before->piece &&
                                                    chunk->start >= before->start + before->length);
    if (follows)
        return BALLAST_ATTENTION_OK;
    return attention_error(
        error, INVALID,
        "chunk %u: found token %u of piece %u after %u of piece %u, expected a rank's "
        "chunks by piece, then start",
        index, chunk->start, chunk->piece, before->start, before->piece);
}

static ballast_attention_status check_rank(const ballast_attention_cp_plan *plan, uint32_t rank,
                                           uint64_t *tokens, ballast_attention_error *error)
{
    uint64_t held = 0;
    for (uint32_t i = plan->rank_chunks[rank]; i < plan->rank_chunks[rank + 1]; i++) {
        ballast_attention_status status = check_chunk(plan, i, error);
        if (status == BALLAST_ATTENTION_OK && i > plan->rank_chunks[rank])
            status = check_succession(plan, i, error);
        if (status != BALLAST_ATTENTION_OK)
            return status;
        held += plan->chunks[i].length;
    }
    if (held > plan->padded_tokens)
        return attention_error(error, INVALID,
                               "padded_tokens: found %u, but rank %u holds %llu tokens",
                               plan->padded_tokens, rank, (unsigned long long)held);
    *tokens += held;
    return BALLAST_ATTENTION_OK;
}

ballast_attention_status plan_check(const ballast_attention_cp_plan *plan,
                                    ballast_attention_error *error)
{
    ballast_attention_status status = check_head(plan, error);
    if (status == BALLAST_ATTENTION_OK)
        status = check_order("cu_seqlens", plan->cu_seqlens, plan->piece_count, error);
    if (status == BALLAST_ATTENTION_OK)
        status = check_order("rank_chunks", plan->rank_chunks, plan->ranks, error);
    if (status != BALLAST_ATTENTION_OK)
        return status;
    if (!plan->chunks && plan->rank_chunks[plan->ranks])
        return attention_error(error, INVALID, "chunks: found NULL");
    uint64_t tokens = 0;
    for (uint32_t rank = 0; status == BALLAST_ATTENTION_OK && rank < plan->ranks; rank++)
        status = check_rank(plan, rank, &tokens, error);
    if (status == BALLAST_ATTENTION_OK && tokens != plan->cu_seqlens[plan->piece_count])
        return attention_error(error, INVALID,
                               "chunks: found %llu tokens in all, but the pieces have %u",
                               (unsigned long long)tokens, plan->cu_seqlens[plan->piece_count]);
    return status;
}

ballast_attention_status plan_groups(const ballast_attention_layout *layout,
                                     const ballast_attention_cp_plan *plan, uint32_t *ret_groups,
                                     ballast_attention_error *error)
{
    uint32_t heads = layout->kv_heads;
    if (plan->variant == BALLAST_ATTENTION_CP_RING && plan->kv_head_groups > 1)
        return attention_error(error, INVALID,
                               "kv_head_groups: found %u, but a ring sends all KV heads",
                               plan->kv_head_groups);
    if (plan->variant == BALLAST_ATTENTION_CP_RING || plan->kv_head_groups == 1) {
        *ret_groups = 1;
        return BALLAST_ATTENTION_OK;
    }
    if (plan->kv_head_groups > 0) {
        if (plan->kv_head_groups > heads || heads % plan->kv_head_groups != 0)
            return attention_error(
                error, INVALID,
                "kv_head_groups: %u KV heads cannot be cut into %u groups of equal "
                "size: take a divisor of %u, or 0",
                heads, plan->kv_head_groups, heads);
        *ret_groups = plan->kv_head_groups;
        return BALLAST_ATTENTION_OK;
    }
    uint32_t groups = heads / 2 < MOST_GROUPS ? heads / 2 : MOST_GROUPS;
    while (groups > 1 && heads % groups != 0)
        groups--;
    *ret_groups = groups > 1 ? groups : 1;
    return BALLAST_ATTENTION_OK;
}
