#include "serve/order.h"

bool order_share(struct server *server, struct shared_plan *plan, struct payload_key key,
                 bool ahead, uint64_t past)
{
    struct payload *present;
    if (payload_cache_find(&server->cache, key, &present) != PAYLOAD_ABSENT)
        return true;
    size_t bytes =
        payload_bytes(&plan->plan, key.microbatch, key.rank, server->corpus->token_bytes);
    if (!payload_cache_reserve(&server->cache, key, bytes, past))
        return false;
    if (gather_submit(server->gather, plan, key, ahead))
        return true;
    payload_cache_cancel(&server->cache, key);
    return false;
}

static size_t share_number(const struct step_plan *plan, struct payload_key key)
{
    return (size_t)key.microbatch * plan->rank_count + key.rank;
}

void order_done(struct server *server, const struct shared_plan *plan, struct payload_key key)
{
    size_t shares = plan->plan.microbatch_count * (size_t)plan->plan.rank_count;
    whole_steps_add(&server->whole, key.step, share_number(&plan->plan, key), shares);
}

static bool is_here(struct server *server, struct payload_key key)
{
    struct payload *present;
    return payload_cache_find(&server->cache, key, &present) == PAYLOAD_HERE;
}

/* What is in the cache was gathered, though the step may have been forgotten since. */
bool order_whole(struct server *server, struct shared_plan *plan)
{
    const struct step_plan *step = &plan->plan;
    for (uint32_t m = 0; m < step->microbatch_count; m++)
        for (uint32_t rank = 0; rank < step->rank_count; rank++) {
            struct payload_key key = { step->step, m, rank };
            if (whole_steps_saw(&server->whole, key.step, share_number(step, key)))
                continue;
            if (is_here(server, key))
                order_done(server, plan, key);
            else if (!order_share(server, plan, key, false, UINT64_MAX))
                return false;
        }
    return true;
}
