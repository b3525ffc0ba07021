#include "change.h"

#include <string.h>

#include "ask.h"
#include "session.h"

uint64_t change_next_step(ballast_client *client)
{
    uint32_t run = window_run(&client->window);
    uint64_t last = run ? window_at(&client->window, run - 1)->question.step : 0;
    return run && last >= client->next_step ? last + 1 : client->next_step;
}

static void give_up_ready(ballast_client *client, struct request *request)
{
    if (request->state == REQUEST_READY)
        ask_anew(client, request);
}

/*
 * What is held behind a batch that is missing came over another connection, and this daemon was not
 * told of it. A change between the two would come without a sign.
 */
void change_hello_sent(ballast_client *client)
{
    for (uint32_t i = window_run(&client->window); i < client->window.count; i++)
        give_up_ready(client, window_at(&client->window, i));
    give_up_ready(client, &client->single);
}

/* Steps from `from` on are void, but for batches of this job digest; NULL: all of them. */
struct scope {
    uint64_t from;
    const uint8_t *job_digest;
};

void change_learn(ballast_client *client, uint64_t step, const uint8_t *job_digest)
{
    client->told.step = step;
    memcpy(client->told.digest, job_digest, BALLAST_DIGEST_BYTES);
}

/* Has this digest been told of `step` or of one before? Then nothing up to there has changed. */
static bool told_before(const ballast_client *client, uint64_t step, const uint8_t *job_digest)
{
    if (step >= client->options.first_step &&
        memcmp(client->facts.job.digest, job_digest, BALLAST_DIGEST_BYTES) == 0)
        return true;
    return digests_know_job(&client->digests, step, job_digest);
}

static bool stands(const struct request *request, const struct scope *scope)
{
    if (request->state != REQUEST_READY || !scope->job_digest)
        return false;
    const Ballast__V1__Batch *batch = reply_batch(&request->reply);
    return batch->job_digest.len == BALLAST_DIGEST_BYTES &&
           memcmp(batch->job_digest.data, scope->job_digest, BALLAST_DIGEST_BYTES) == 0;
}

/* A failure is void too: what was not to be had may be what is left out now. */
static void give_up(ballast_client *client, struct request *request, void *context)
{
    const struct scope *scope = context;
    if (request == &client->check || request->question.step < scope->from)
        return;
    if (stands(request, scope))
        digests_agree(&client->digests, reply_batch(&request->reply));
    else if (request->state == REQUEST_READY || request->state == REQUEST_FAILED)
        ask_anew(client, request);
}

/* What daemons are measured by, and asked with, goes back to a step that stands. */
static void step_back(ballast_client *client, uint64_t from)
{
    struct order *order = &client->order;
    const struct step_digests *last = digests_before(&client->digests, from);
    if (order->step >= from && order->step != ORDER_OF_JOB) {
        order->known = last != NULL;
        if (last) {
            order->step = last->step;
            memcpy(order->digest, last->digest, BALLAST_DIGEST_BYTES);
        }
    }
    if (client->told.step < from)
        return;
    if (last && last->job_known)
        change_learn(client, last->step, last->job_digest);
    else
        change_learn(client, client->options.first_step, client->facts.job.digest);
}

static void give_up_all(ballast_client *client, struct scope scope)
{
    digests_forget(&client->digests, scope.from);
    session_each_request(client, give_up, &scope);
    step_back(client, scope.from);
    client->end_step = UINT64_MAX;
}

void change_in_batch(ballast_client *client, const Ballast__V1__Batch *batch)
{
    const struct scope scope = { batch->step, batch->job_digest.data };
    if (batch->job_digest.len != BALLAST_DIGEST_BYTES || batch->step < client->next_step ||
        told_before(client, batch->step, scope.job_digest))
        return;
    give_up_all(client, scope);
    change_learn(client, scope.from, scope.job_digest);
    if (scope.from <= client->options.first_step)
        memcpy(client->facts.job.digest, scope.job_digest, BALLAST_DIGEST_BYTES);
}

void change_in_hello(ballast_client *client)
{
    give_up_all(client, (struct scope){ .from = client->next_step });
}
