#include "client_helper.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define MOST_REQUESTS 4096

struct fake_daemon *start(const struct fake_job *job)
{
    struct fake_daemon *daemon = fake_start(job, "tcp://127.0.0.1:*");
    cr_assert_not_null(daemon);
    return daemon;
}

ballast_options options_for(struct fake_daemon *first, struct fake_daemon *second)
{
    static char endpoints[600];
    snprintf(endpoints, sizeof endpoints, "%s%s%s", fake_endpoint(first), second ? "," : "",
             second ? fake_endpoint(second) : "");
    ballast_options options = BALLAST_OPTIONS_INIT;
    options.endpoints = endpoints;
    options.retry_ms = LONG_RETRY_MS;
    return options;
}

ballast_client *open_with(const ballast_options *options)
{
    ballast_client *client = NULL;
    ballast_status status = ballast_open(options, &client);
    cr_assert_eq(status, BALLAST_OK, "ballast_open: %s", ballast_status_text(status));
    return client;
}

ballast_batch *take_next(ballast_client *client)
{
    ballast_batch *batch = NULL;
    ballast_status status = ballast_next(client, PATIENCE_MS, &batch);
    cr_assert_eq(status, BALLAST_OK, "ballast_next: %d, %s", status, ballast_message(client));
    return batch;
}

ballast_batch *take(ballast_client *client, uint64_t step, uint32_t slot)
{
    ballast_batch *batch = NULL;
    ballast_status status = ballast_get(client, step, slot, PATIENCE_MS, &batch);
    cr_assert_eq(status, BALLAST_OK, "ballast_get: %d, %s", status, ballast_message(client));
    return batch;
}

/* The token after `offset` in the document, or that there is none. */
static int32_t expected_label(const ballast_view *view, const struct fake_job *job, uint32_t piece,
                              uint32_t offset)
{
    bool last = offset + 1 == job->lengths[piece];
    if (last && job->continued != piece + 1)
        return BALLAST_IGNORE_LABEL;
    return (int32_t)fake_token(job, view->step, view->microbatch, piece, offset + 1);
}

void expect_content(const ballast_view *view, const struct fake_job *job)
{
    uint32_t at = 0, labels = 0;
    for (uint32_t i = view->rank_chunks[view->cp_rank]; i < view->rank_chunks[view->cp_rank + 1];
         i++) {
        ballast_chunk chunk = view->chunks[i];
        for (uint32_t offset = chunk.start; offset < chunk.start + chunk.length; offset++, at++) {
            uint32_t token = fake_token(job, view->step, view->microbatch, chunk.piece, offset);
            cr_assert_eq(view->tokens[at], (int32_t)token);
            cr_assert_eq(view->positions[at], (int32_t)offset);
            cr_assert_eq(view->labels[at], expected_label(view, job, chunk.piece, offset));
            labels += view->labels[at] != BALLAST_IGNORE_LABEL;
        }
    }
    cr_assert_eq(at, view->local_tokens);
    cr_assert_eq(labels, view->local_loss_tokens);
    for (; at < view->padded_tokens; at++) {
        cr_assert_eq(view->tokens[at], 0);
        cr_assert_eq(view->positions[at], 0);
        cr_assert_eq(view->labels[at], BALLAST_IGNORE_LABEL);
    }
}

void expect_next(ballast_client *client, const struct fake_job *job, uint64_t step, uint32_t slot)
{
    ballast_batch *batch = take_next(client);
    const ballast_view *view = ballast_batch_view(batch);
    cr_assert_eq(view->step, step);
    cr_assert_eq(view->slot, slot);
    expect_content(view, job);
    ballast_batch_free(batch);
}

static size_t requests_of(struct fake_daemon *daemon, struct fake_request *requests)
{
    size_t count = fake_requests(daemon, requests, MOST_REQUESTS);
    cr_assert_leq(count, MOST_REQUESTS);
    return count;
}

/* Requests are answered in the order in which they come: what is asked behind it was asked later.
 */
static bool asked_behind(struct fake_daemon *daemon, uint64_t step, uint32_t microbatch)
{
    static struct fake_request requests[MOST_REQUESTS];
    size_t count = requests_of(daemon, requests);
    for (size_t i = 0; i + 1 < count; i++)
        if (requests[i].step == step && requests[i].microbatch == microbatch)
            return true;
    return false;
}

void wait_for_answer(ballast_client *client, struct fake_daemon *daemon, uint64_t step,
                     uint32_t microbatch)
{
    ballast_batch *batch = NULL;
    while (!asked_behind(daemon, step, microbatch))
        cr_assert_neq(ballast_next(client, 1, &batch), BALLAST_OK, "the head must be kept back");
}

unsigned times_asked(struct fake_daemon *daemon, uint64_t step, uint32_t microbatch)
{
    static struct fake_request requests[MOST_REQUESTS];
    size_t count = requests_of(daemon, requests);
    unsigned times = 0;
    for (size_t i = 0; i < count; i++)
        times +=
            requests[i].parts && requests[i].step == step && requests[i].microbatch == microbatch;
    return times;
}

ballast_counters counters_of(const ballast_client *client)
{
    ballast_counters counters;
    ballast_get_counters(client, &counters);
    return counters;
}
