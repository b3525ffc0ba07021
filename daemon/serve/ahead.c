/*
 * Gathering ahead of demand: payloads of every micro-batch and rank, from the step where the job
 * stands up to steps_ahead further, in that order. Each is ordered once per pass, so what has been
 * pushed out of the cache is not gathered in vain again.
 */
#include "config/config.h"
#include "serve/order.h"

/* Jobs kept with the workers: enough to keep them busy, few enough for requests to come next. */
static unsigned most_jobs(const struct server *server)
{
    return 2 * server->config->serve.gather_threads;
}

static void step_on(struct server *server)
{
    struct payload_key *at = &server->ahead;
    const struct config *config = history_config(server->lineage->history, at->step);
    if (++at->rank < config->parallel.cp)
        return;
    at->rank = 0;
    if (++at->microbatch < config_step_microbatches(config))
        return;
    at->microbatch = 0;
    at->step++;
}

/* Keeps the pass inside front .. front + steps_ahead, wherever the job has jumped to. */
static bool in_window(struct server *server)
{
    uint64_t front = server->front, ahead = server->config->serve.steps_ahead;
    if (server->ahead.step < front || server->ahead.step - front > ahead + 1)
        server->ahead = (struct payload_key){ .step = front };
    return server->ahead.step - front <= ahead;
}

/* False when the pass has to wait for a worker or for room. */
static bool order(struct server *server, struct shared_plan *plan)
{
    if (server->changing_from <= server->ahead.step)
        return false;
    /* The step before the front is still wanted by ranks that are a little behind. */
    uint64_t past = server->front ? server->front - 1 : 0;
    return order_share(server, plan, server->ahead, true, past);
}

void gather_ahead_of_demand(struct server *server)
{
    if (!server->corpus->has_tokens || server->phase >= SERVER_DRAINING)
        return;
    while (gather_ahead(server->gather) < most_jobs(server) && in_window(server)) {
        struct shared_plan *plan = plan_store_peek(server->plans, server->ahead.step);
        bool ordered = plan && order(server, plan);
        shared_plan_unref(plan);
        if (!ordered)
            return;
        step_on(server);
    }
}
