#include "ask.h"

#include <errno.h>

#include "change.h"
#include "clock.h"
#include "session.h"

static Ballast__V1__Rank rank_of(const ballast_client *client)
{
    Ballast__V1__Rank rank = BALLAST__V1__RANK__INIT;
    rank.dp = client->options.dp_rank;
    rank.cp = client->options.cp_rank;
    rank.pp = client->options.pp_rank;
    rank.tp = client->options.tp_rank;
    return rank;
}

int ask_hello(ballast_client *client)
{
    Ballast__V1__Rank rank = rank_of(client);
    Ballast__V1__Hello hello = BALLAST__V1__HELLO__INIT;
    hello.job = client->options.job;
    hello.client = client->name;
    hello.rank = &rank;
    hello.incarnation = client->incarnation;
    hello.step = client->options.first_step;
    hello.daemons = (uint32_t)client->options.endpoint_count;
    hello.next_step = change_next_step(client);
    int error = link_send(&client->session.link, &hello.base);
    if (!error)
        change_hello_sent(client);
    return error;
}

static int ask_ack(ballast_client *client)
{
    Ballast__V1__Rank rank = rank_of(client);
    Ballast__V1__Ack ack = BALLAST__V1__ACK__INIT;
    ack.step = client->ack_step;
    ack.rank = &rank;
    return link_send(&client->session.link, &ack.base);
}

uint32_t ask_deadline_ms(const ballast_client *client)
{
    return client->options.retry_ms / 2;
}

static int ask_batch(ballast_client *client, const struct request *request)
{
    Ballast__V1__GetBatch get = BALLAST__V1__GET_BATCH__INIT;
    get.request = request->id;
    get.step = request->question.step;
    get.microbatch = request->question.microbatch;
    get.cp_rank = request->question.cp_rank;
    get.parts = request->question.parts;
    get.deadline_ms = ask_deadline_ms(client);
    /* What a later step said: a daemon that knows less of the job's changes must not serve it. */
    bool later = request->question.step >= client->told.step;
    get.job_digest.data = later ? client->told.digest : client->facts.job.digest;
    get.job_digest.len = BALLAST_DIGEST_BYTES;
    return link_send(&client->session.link, &get.base);
}

void ask_start(ballast_client *client, struct request *request, uint64_t step, uint32_t slot,
               uint32_t parts)
{
    const struct question question = {
        .step = step,
        .microbatch = client->options.dp_rank * client->facts.job.microbatches + slot,
        .cp_rank = client->options.cp_rank,
        .parts = parts,
    };
    request_start(request, ++client->next_id, &question);
}

void ask_anew(ballast_client *client, struct request *request)
{
    const struct question question = request->question;
    request_free(request);
    request_start(request, ++client->next_id, &question);
}

void ask_start_check(ballast_client *client, uint64_t step)
{
    const struct question question = { .step = step };
    request_start(&client->check, ++client->next_id, &question);
}

static void extend_window(ballast_client *client)
{
    struct place place;
    struct request *request;
    uint64_t end = client_next_ends(client);
    while ((request = window_extend(&client->window, client->options.prefetch, end,
                                    client->facts.job.microbatches, &place)))
        ask_start(client, request, place.step, place.slot, PARTS_ALL);
}

/* A link that takes no more is tried again when it can; any other refusal ends the connection. */
static bool sent(ballast_client *client, int error)
{
    if (error == 0)
        return true;
    if (error != EAGAIN) {
        problem_set(&client->session.trouble, BALLAST_SYSTEM, "%s: cannot send: %s",
                    session_endpoint(client), zmq_strerror(error));
        session_fail_over(client);
    }
    client->session.blocked = true;
    return false;
}

bool ask_permitted(const ballast_client *client, const struct request *request)
{
    return client->session.state == SESSION_READY ||
           (client->session.state == SESSION_COMPARING && request == &client->check);
}

static void send_if_due(ballast_client *client, struct request *request, void *context)
{
    int64_t now_ns = *(const int64_t *)context;
    if (request->state != REQUEST_DUE || request->when_ns > now_ns || client->session.blocked ||
        !ask_permitted(client, request))
        return;
    bool again = request->sent_before;
    if (!sent(client, ask_batch(client, request)))
        return;
    client->counters.requests++;
    client->counters.retries += again;
    request_sent(request, now_ns, ask_deadline_ms(client), client->session.left);
}

void ask_all(ballast_client *client, int64_t now_ns)
{
    enum session_state state = client->session.state;
    if (state != SESSION_READY && state != SESSION_COMPARING)
        return;
    client->session.blocked = false;
    if (client->ack_due && sent(client, ask_ack(client)))
        client->ack_due = false;
    if (client->window_open && state == SESSION_READY)
        extend_window(client);
    session_each_request(client, send_if_due, &now_ns);
}
