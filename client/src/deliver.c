#include "deliver.h"

#include "ask.h"
#include "await.h"
#include "batch.h"
#include "clock.h"
#include "session.h"

/* What the caller of ballast_get wants; of ballast_next, only the result. */
struct wish {
    uint64_t step;
    uint32_t slot;
    ballast_batch *batch;
};

/* Of that step only: whoever asks far ahead does not learn where the data end. */
static ballast_status report_end(ballast_client *client, uint64_t step)
{
    if (step < client->end_step)
        return problem_set(&client->last, BALLAST_END,
                           "step %llu: nothing is asked for from here "
                           "on (end_step)",
                           (unsigned long long)step);
    return problem_set(&client->last, BALLAST_END, "end of data: the job has no step %llu",
                       (unsigned long long)step);
}

static void retry_failed(ballast_client *client, struct request *request, void *context)
{
    (void)client;
    (void)context;
    if (request->state == REQUEST_FAILED)
        request_retry(request);
}

/* A failure is told once. Whatever failed, also further ahead, is asked again by the next call. */
static ballast_status report_failure(ballast_client *client, const struct request *request)
{
    client->last = request->problem;
    session_each_request(client, retry_failed, NULL);
    return client->last.status;
}

ballast_status deliver_not_yet(ballast_client *client)
{
    if (client->check.state == REQUEST_FAILED)
        return report_failure(client, &client->check);
    return BALLAST_TIMEOUT;
}

/* On BALLAST_OK the request may go. Out of memory: it stays, and the next call finds it. */
static ballast_status hand_over(ballast_client *client, struct request *request,
                                ballast_batch **ret_batch)
{
    if (request->state == REQUEST_FAILED)
        return report_failure(client, request);
    if (request->state != REQUEST_READY)
        return deliver_not_yet(client);
    ballast_status status =
        batch_new(&client->options.allocator, &client->facts, &request->reply, ret_batch);
    if (status == BALLAST_OK) {
        client->counters.batches++;
        if (request->question.step >= client->next_step)
            client->next_step = request->question.step + 1;
        return status;
    }
    return problem_set(&client->last, status, "step %llu: %s",
                       (unsigned long long)request->question.step,
                       status == BALLAST_INVALID ? "the allocator's memory is not aligned to 64 "
                                                   "bytes"
                                                 : "the allocator gave no memory for the batch");
}

static ballast_status look_for_next(ballast_client *client, void *context)
{
    struct wish *wish = context;
    if (!client->facts_known)
        return deliver_not_yet(client);
    struct window *window = &client->window;
    if (window->head.step >= client_next_ends(client))
        return report_end(client, window->head.step);
    if (window->count == 0)
        return deliver_not_yet(client);
    ballast_status status = hand_over(client, window_at(window, 0), &wish->batch);
    if (status != BALLAST_OK)
        return status;
    window_advance(window, client->facts.job.microbatches);
    ask_all(client, clock_ns());
    return BALLAST_OK;
}

ballast_status ballast_next(ballast_client *client, int timeout_ms, ballast_batch **ret_batch)
{
    if (timeout_ms < 0)
        return problem_set(&client->last, BALLAST_INVALID, "timeout_ms is negative");
    struct wish wish = { .batch = NULL };
    client->window_open = true;
    ballast_status status = await(client, timeout_ms, look_for_next, &wish);
    if (status == BALLAST_OK)
        *ret_batch = wish.batch;
    return status;
}

/* The request for the wish: the one of an earlier call that timed out, or a new one, sent at once.
 */
static struct request *request_for(ballast_client *client, const struct wish *wish)
{
    struct request *request = &client->single;
    uint32_t microbatch = client->options.dp_rank * client->facts.job.microbatches + wish->slot;
    if (request->state != REQUEST_FREE && request->question.step == wish->step &&
        request->question.microbatch == microbatch)
        return request;
    request_free(request);
    ask_start(client, request, wish->step, wish->slot, PARTS_ALL);
    ask_all(client, clock_ns());
    return request;
}

static ballast_status look_for_single(ballast_client *client, void *context)
{
    struct wish *wish = context;
    if (!client->facts_known)
        return deliver_not_yet(client);
    uint32_t microbatches = client->facts.job.microbatches;
    if (wish->slot >= microbatches)
        return problem_set(&client->last, BALLAST_OUT_OF_RANGE,
                           "slot is %u, but the job has %u micro-batches per DP replica",
                           wish->slot, microbatches);
    if (wish->step >= client->end_step)
        return report_end(client, wish->step);
    struct request *request = request_for(client, wish);
    ballast_status status = hand_over(client, request, &wish->batch);
    if (status == BALLAST_OK)
        request_free(request);
    return status;
}

ballast_status ballast_get(ballast_client *client, uint64_t step, uint32_t slot, int timeout_ms,
                           ballast_batch **ret_batch)
{
    if (timeout_ms < 0 || step > OPTIONS_MAX_STEP)
        return problem_set(&client->last, BALLAST_INVALID, "%s",
                           timeout_ms < 0 ? "timeout_ms is negative" : "step is above 2^63 - 1");
    struct wish wish = { .step = step, .slot = slot };
    ballast_status status = await(client, timeout_ms, look_for_single, &wish);
    if (status == BALLAST_OK)
        *ret_batch = wish.batch;
    return status;
}

ballast_status ballast_seek(ballast_client *client, uint64_t step)
{
    if (step > OPTIONS_MAX_STEP)
        return problem_set(&client->last, BALLAST_INVALID, "step is above 2^63 - 1");
    window_seek(&client->window, step);
    client->next_step = step;
    return BALLAST_OK;
}
