#include "answer.h"

#include <stdio.h>
#include <string.h>

#include "ask.h"
#include "change.h"
#include "clock.h"
#include "session.h"

#define FIRST_BACKOFF_MS 10
#define BACKOFF_DOUBLINGS 16u
#define MOST_TIMEOUTS 20u /* some ten times retry_ms */

/* Statuses that a later protocol adds are failures, told as they are; above, they are the
 * library's. */
#define STATUS_MOST 99u

static int64_t backoff_ns(const ballast_client *client, unsigned rebuffs)
{
    int64_t most = ask_deadline_ms(client);
    int64_t ms = (int64_t)FIRST_BACKOFF_MS
                 << (rebuffs < BACKOFF_DOUBLINGS ? rebuffs : BACKOFF_DOUBLINGS);
    return (ms < most ? ms : most) * CLOCK_NS_PER_MS;
}

static void set_trouble(ballast_client *client, ballast_status status, const char *why)
{
    if (!why[0])
        why = ballast_status_text(status);
    problem_set(&client->session.trouble, status, "%s: %s", session_endpoint(client), why);
}

/* Every endpoint gets its chance, and a single one a second. */
static bool corrupt_everywhere(const ballast_client *client, const struct request *request)
{
    size_t chances = client->options.endpoint_count;
    return request->corrupt >= (chances < 2 ? 2 : chances);
}

static void count_corrupt(ballast_client *client, struct request *request, const char *why)
{
    request->corrupt++;
    if (!corrupt_everywhere(client, request))
        return;
    request->state = REQUEST_FAILED;
    problem_set(&request->problem, BALLAST_CORRUPT,
                "every answer for step %llu was damaged, the last one, from %s: %s",
                (unsigned long long)request->question.step, session_endpoint(client), why);
}

static void take_corrupt(ballast_client *client, struct request *request, const char *why)
{
    client->counters.corrupt++;
    count_corrupt(client, request, why);
    set_trouble(client, BALLAST_CORRUPT, why);
    session_fail_over(client);
}

static void count_if_sent(ballast_client *client, struct request *request, void *context)
{
    const char *const *why = context;
    if (request->state == REQUEST_SENT)
        count_corrupt(client, request, *why);
}

/* A message that cannot be understood: it may have been the answer to anything in flight. */
static void take_garbage(ballast_client *client, const char *why)
{
    client->counters.corrupt++;
    session_each_request(client, count_if_sent, &why);
    set_trouble(client, BALLAST_CORRUPT, why);
    session_fail_over(client);
}

/* The daemon will not have us, now or for good. */
static void take_rejection(ballast_client *client, uint32_t status, const char *why)
{
    if (status > STATUS_MOST) {
        take_garbage(client, "its status is none of the protocol");
        return;
    }
    if (!wire_status_retryable(status)) {
        session_drop(client, (ballast_status)status, why);
        return;
    }
    set_trouble(client, (ballast_status)status, why);
    session_fail_over(client);
}

/* Does the daemon know of more changes of the job than the one before? */
static bool ledger_grew(const ballast_client *client, const struct facts *facts)
{
    return client->facts_known && facts->ledger_entries > client->facts.ledger_entries;
}

/* Is the digest of the step where the caller began another one, and may not be? Where nothing of it
 * was handed over, a ledger that has grown may have changed it. */
static bool digest_differs(const ballast_client *client, const struct facts *facts)
{
    if (!client->facts_known ||
        memcmp(client->facts.job.digest, facts->job.digest, BALLAST_DIGEST_BYTES) == 0)
        return false;
    return client->next_step > client->options.first_step || !ledger_grew(client, facts);
}

/* Is this the job that the caller wants? Says why not in `problem`. */
static bool job_fits(const ballast_client *client, const struct facts *facts,
                     struct problem *problem)
{
    const struct options *options = &client->options;
    if (options->job[0] && strcmp(options->job, facts->job.name) != 0)
        problem_set(problem, BALLAST_WRONG_JOB, "it serves job '%s', not '%s'", facts->job.name,
                    options->job);
    else if (digest_differs(client, facts) && !facts_same_ledger(&client->facts, facts))
        problem_set(problem, BALLAST_WRONG_JOB,
                    "its ledger differs: %u changes of the job, where the daemon asked first had "
                    "%u; give both the same ledger",
                    facts->ledger_entries, client->facts.ledger_entries);
    else if (digest_differs(client, facts))
        problem_set(problem, BALLAST_WRONG_JOB,
                    "its configuration or corpus differs from that of the daemon asked first");
    else if (options->dp_rank >= facts->job.dp)
        problem_set(problem, BALLAST_OUT_OF_RANGE, "dp_rank is %u, but the job has dp %u",
                    options->dp_rank, facts->job.dp);
    else if (options->cp_rank >= facts->job.cp)
        problem_set(problem, BALLAST_OUT_OF_RANGE, "cp_rank is %u, but the job has cp %u",
                    options->cp_rank, facts->job.cp);
    return problem->status == BALLAST_OK;
}

/* ---- the order ---- */

/* This daemon orders the data otherwise. It may know what was edited since the caller's checkpoint.
 */
static void refuse_order(ballast_client *client, const char *what)
{
    char why[PROBLEM_TEXT_BYTES + FACTS_CHANGES_BYTES];
    const char *changes = client->facts.changes;
    snprintf(why, sizeof why, "%s%s%s", what, changes[0] ? "; since its last job: " : "", changes);
    session_drop(client, BALLAST_DIGEST, why);
}

/* The facts are accepted, and so is everything that this endpoint sends from now on. */
static void become_ready(ballast_client *client)
{
    client->facts_known = true;
    client->session.state = SESSION_READY;
    problem_clear(&client->session.trouble);
}

/* Before anything is asked of a daemon, its order is compared with the one known to be right. */
static void compare_order(ballast_client *client)
{
    const struct order *order = &client->order;
    request_free(&client->check);
    if (order->known && order->step != ORDER_OF_JOB) {
        client->session.state = SESSION_COMPARING;
        ask_start_check(client, order->step);
        return;
    }
    if (order->known &&
        memcmp(order->digest, client->facts.job.digest, BALLAST_DIGEST_BYTES) != 0) {
        refuse_order(client, "the digest of configuration and corpus is not the expected one: "
                             "resume with the same files and settings");
        return;
    }
    become_ready(client);
}

static void take_check(ballast_client *client, const Ballast__V1__Batch *batch)
{
    char what[160];
    const struct order *order = &client->order;
    request_free(&client->check);
    if (memcmp(order->digest, batch->digest.data, BALLAST_DIGEST_BYTES) == 0) {
        session_succeed(client);
        become_ready(client);
        return;
    }
    snprintf(what, sizeof what, "its digest of step %llu is not the %s one: the data order differs",
             (unsigned long long)order->step,
             client->facts_known ? "one seen before, the right" : "expected");
    refuse_order(client, what);
}

/*
 * Daemons that disagree on a step: what the caller may have had already counts, and the one that
 * says otherwise goes. True when the digest is right.
 */
static bool keep_order(ballast_client *client, const struct request *request,
                       const Ballast__V1__Batch *batch)
{
    struct order *order = &client->order;
    if (!digests_agree(&client->digests, batch)) {
        char what[160];
        snprintf(what, sizeof what,
                 "its digest of step %llu differs from the one seen before: the daemons disagree "
                 "on the data order",
                 (unsigned long long)batch->step);
        refuse_order(client, what);
        return false;
    }
    /* A step that ballast_get asks for may be far away, and its digest long in coming. */
    if (request != &client->single || !client->window_open) {
        order->known = true;
        order->step = batch->step;
        memcpy(order->digest, batch->digest.data, BALLAST_DIGEST_BYTES);
    }
    return true;
}

/* ---- answers ---- */

static void take_hello(ballast_client *client, const Ballast__V1__HelloReply *reply)
{
    if (reply->status != WIRE_OK) {
        take_rejection(client, reply->status, reply->message);
        return;
    }
    struct facts facts = facts_from(reply);
    struct problem problem = { .status = BALLAST_OK };
    if (!job_fits(client, &facts, &problem)) {
        session_drop(client, problem.status, problem.text);
        return;
    }
    if (client->facts_known && !facts_agree(&client->facts, &facts)) {
        take_garbage(client, "it describes the same job differently");
        return;
    }
    bool changed = ledger_grew(client, &facts);
    client->facts = facts;
    if (!client->facts_known)
        change_learn(client, client->options.first_step, facts.job.digest);
    if (changed)
        change_in_hello(client);
    compare_order(client);
}

static void take_end(ballast_client *client, struct request *request)
{
    uint64_t end = request->question.step;
    if (request == &client->check) {
        char what[96];
        snprintf(what, sizeof what, "its data end before step %llu, whose digest is known",
                 (unsigned long long)end);
        refuse_order(client, what);
        return;
    }
    session_succeed(client);
    if (end < client->end_step)
        client->end_step = end;
    if (request == &client->single)
        request_free(request);
    window_truncate(&client->window, client->end_step);
}

/*
 * The server is well but cannot answer yet. TIMEOUT means that it has waited for us already; when
 * it does nothing else, its planner or its disk may hang, and another one may have what we want.
 */
static void take_patience(ballast_client *client, struct request *request,
                          const Ballast__V1__Batch *batch, int64_t now_ns)
{
    session_succeed(client);
    set_trouble(client, (ballast_status)batch->status, batch->message);
    request->silences = 0;
    if (batch->status != WIRE_TIMEOUT) {
        request_again(request, now_ns + backoff_ns(client, request->rebuffs++));
        return;
    }
    request->rebuffs = 0;
    request_again(request, request->deadline_ns);
    if (++request->timeouts % MOST_TIMEOUTS == 0 && client->session.left > 1)
        session_fail_over(client);
}

static void take_failure(ballast_client *client, struct request *request,
                         const Ballast__V1__Batch *batch)
{
    if (batch->status > STATUS_MOST) {
        take_corrupt(client, request, "its status is none of the protocol");
        return;
    }
    session_succeed(client);
    request->state = REQUEST_FAILED;
    const char *why = batch->message[0] ? batch->message : wire_status_text(batch->status);
    problem_set(&request->problem, (ballast_status)batch->status, "%s: step %llu: %s",
                session_endpoint(client), (unsigned long long)request->question.step, why);
}

static void take_refusal(ballast_client *client, struct request *request,
                         const Ballast__V1__Batch *batch, int64_t now_ns)
{
    switch (batch->status) {
    case WIRE_TIMEOUT:
    case WIRE_BUSY:
        take_patience(client, request, batch, now_ns);
        break;
    case WIRE_IO_ERROR:
        take_patience(client, request, batch, now_ns);
        if (client->options.endpoint_count > 1)
            session_fail_over(client);
        break;
    case WIRE_DRAINING:
    case WIRE_WRONG_JOB:
        take_rejection(client, batch->status, batch->message);
        break;
    default:
        take_failure(client, request, batch);
        break;
    }
}

/* Takes header and frames when it keeps them. */
static void take_content(ballast_client *client, struct request *request,
                         struct wire_message *header, struct frames *frames)
{
    const Ballast__V1__Batch *batch = header->batch;
    const char *why = reply_check(batch, frames, &request->question, &client->facts);
    if (why) {
        take_corrupt(client, request, why);
        return;
    }
    if (request == &client->check) {
        take_check(client, batch);
        return;
    }
    change_in_batch(client, batch);
    if (!keep_order(client, request, batch))
        return;
    session_succeed(client);
    if (batch->job_digest.len == BALLAST_DIGEST_BYTES && batch->step >= client->told.step)
        change_learn(client, batch->step, batch->job_digest.data);
    request->reply.header = *header;
    *header = (struct wire_message){ 0 };
    frames_move(&request->reply.frames, frames);
    request->state = REQUEST_READY;
}

struct search {
    uint64_t id;
    struct request *found;
};

static void match(ballast_client *client, struct request *request, void *context)
{
    (void)client;
    struct search *search = context;
    if (request->state == REQUEST_SENT && request->id == search->id)
        search->found = request;
}

static void take_batch(ballast_client *client, struct wire_message *header, struct frames *frames,
                       int64_t now_ns)
{
    struct search search = { .id = header->batch->request };
    session_each_request(client, match, &search);
    /* Late, or a duplicate, or for a place that ballast_seek has left. */
    if (!search.found)
        return;
    if (header->batch->status == WIRE_END)
        take_end(client, search.found);
    else if (header->batch->status == WIRE_OK)
        take_content(client, search.found, header, frames);
    else
        take_refusal(client, search.found, header->batch, now_ns);
}

static void dispatch(ballast_client *client, struct wire_message *header, struct frames *frames,
                     int64_t now_ns)
{
    enum session_state state = client->session.state;
    switch (header->type) {
    case WIRE_HELLO_REPLY:
        if (state == SESSION_GREETING)
            take_hello(client, header->hello_reply);
        break;
    case WIRE_BATCH:
        if (state == SESSION_READY || state == SESSION_COMPARING)
            take_batch(client, header, frames, now_ns);
        break;
    case WIRE_REFUSAL:
        take_rejection(client, header->refusal->status, header->refusal->message);
        break;
    default:
        take_garbage(client, "it is no answer");
        break;
    }
}

static void ask_again_if_sent(ballast_client *client, struct request *request, void *context)
{
    (void)client;
    const int64_t *now_ns = context;
    if (request->state == REQUEST_SENT)
        request_again(request, *now_ns + (int64_t)FIRST_BACKOFF_MS * CLOCK_NS_PER_MS);
}

/* There was no memory to read the answer, whatever it was: it is lost, and asked for again. */
static void take_unread(ballast_client *client, int64_t now_ns)
{
    set_trouble(client, BALLAST_NO_MEMORY, "out of memory for an answer");
    if (client->session.state == SESSION_READY)
        session_each_request(client, ask_again_if_sent, &now_ns);
    else
        session_fail_over(client);
}

void answer_take(ballast_client *client, struct frames *frames, int64_t now_ns)
{
    client->session.heard_ns = now_ns;
    client->counters.bytes += frames->bytes;
    struct wire_message header = { 0 };
    const char *why;
    enum wire_status status = wire_decode(frames_data(frames, 0), frames_size(frames, 0),
                                          WIRE_MAX_REPLY_BYTES, &header, &why);
    if (status == WIRE_OK)
        dispatch(client, &header, frames, now_ns);
    else if (status == WIRE_BAD_VERSION)
        session_drop(client, BALLAST_BAD_VERSION, "it speaks another version of the protocol");
    else if (status == WIRE_BUSY)
        take_unread(client, now_ns);
    else
        take_garbage(client, why);
    wire_message_free(&header);
    frames_close(frames);
}
