#include "serve/request.h"

#include <stdlib.h>

#include "ballast/v1/ballast.pb-c.h"
#include "serve/bad_shards.h"
#include "serve/order.h"

#define ROOM_AT_ONCE 256 /* stalled requests looked at before the loop looks at other things */

enum waits_for { WAITS_FOR_PLAN, WAITS_FOR_PAYLOAD, WAITS_FOR_WHOLE, WAITS_FOR_ROOM };

struct request {
    struct hash_link by_step; /* server.waiting */
    struct list of_session;   /* session.requests */
    struct list stalled;      /* server.stalled, when it waits for room */
    struct deadline deadline;
    struct session *session;
    struct batch_question question;
    uint64_t since_ms;
    enum waits_for waits_for;
    bool wanted; /* counted as wanted by the plan store */
};

static bool wants_tokens(const struct batch_question *question)
{
    return question->parts & BALLAST__V1__PART__PART_TOKENS;
}

static struct payload_key key_of(const struct batch_question *question)
{
    return (struct payload_key){ question->step, question->microbatch, question->cp_rank };
}

static void unstall(struct server *server, struct request *request)
{
    if (list_empty(&request->stalled))
        return;
    list_remove(&request->stalled);
    server->stalled_count--;
}

static void finish(struct server *server, struct request *request)
{
    if (request->wanted)
        plan_store_unwant(server->plans, request->question.step);
    hash_table_remove(&server->waiting, &request->by_step);
    list_remove(&request->of_session);
    unstall(server, request);
    server_remove_deadline(server, &request->deadline);
    request->session->waiting--;
    free(request);
}

static void answer(struct server *server, struct request *request, enum wire_status status,
                   const char *message)
{
    reply_no_batch(server, &request->session->peer, &request->question, status, message);
    finish(server, request);
}

/* ---- room ---- */

static bool has_room(struct server *server, const struct flight *flight, size_t bytes)
{
    size_t most = 2 * server->cache.limit_bytes;
    if (flight_fits(flight, bytes, most))
        return true;
    /* Something may land between the two looks; then either the second or the wake-up tells. */
    atomic_store(&server->flights.awaited, true);
    return flight_fits(flight, bytes, most);
}

static void stall(struct server *server, struct request *request)
{
    request->waits_for = WAITS_FOR_ROOM;
    unstall(server, request);
    list_push_back(&server->stalled, &request->stalled);
    server->stalled_count++;
}

/* ---- with a plan at hand ---- */

static void note_answered(struct server *server, const struct request *request)
{
    struct session *session = request->session;
    uint64_t step = request->question.step;
    session->has_answered = true;
    session->answered_step = step;
    if (request->question.parts)
        session_note_sent(session, step);
    if (step <= server->front)
        return;
    server->front = step;
    plan_store_front(server->plans, step);
}

/* Is it held back until all of its step has been read? What tells of the data counts as data. */
static bool needs_whole(const struct server *server, const struct request *request)
{
    return request->question.parts && bad_shards_may_drop(server);
}

/* A share that failed is answered by its own gathering: it may have become well. */
static const struct bad_step *spoilt(struct server *server, const struct request *request)
{
    const struct bad_step *bad = bad_steps_find(&server->bad_steps, request->question.step);
    bool own = bad && bad->key.microbatch == request->question.microbatch &&
               bad->key.rank == request->question.cp_rank;
    bool asks = wants_tokens(&request->question) || needs_whole(server, request);
    return own || !asks ? NULL : bad;
}

static void answer_bad(struct server *server, struct request *request, const struct bad_step *bad)
{
    char why[WIRE_MAX_MESSAGE_BYTES + 1];
    enum wire_status status = bad_shards_answer(server, request->session, bad, why, sizeof why);
    answer(server, request, status, why);
}

static void deliver(struct server *server, struct request *request, struct shared_plan *plan,
                    struct payload *payload)
{
    const struct bad_step *bad = spoilt(server, request);
    if (bad) {
        /* Nobody need ask for the share that failed itself for the step to become well. */
        order_share(server, plan, bad->key, true, UINT64_MAX);
        answer_bad(server, request, bad);
        return;
    }
    if (needs_whole(server, request) && !whole_steps_has(&server->whole, request->question.step)) {
        request->waits_for = WAITS_FOR_WHOLE;
        return;
    }
    size_t bytes = (payload ? payload->bytes : 0) + plan->bytes;
    if (!has_room(server, request->session->flight, bytes)) {
        stall(server, request);
        return;
    }
    if (reply_batch(server, request->session, &request->question, plan, payload))
        note_answered(server, request);
    finish(server, request);
}

/* Has the payload gathered; lets the request wait for that, or for room to do it. */
static void order_payload(struct server *server, struct request *request, struct shared_plan *plan)
{
    if (order_share(server, plan, key_of(&request->question), false, UINT64_MAX))
        request->waits_for = WAITS_FOR_PAYLOAD;
    else
        stall(server, request);
}

/* `plan` is the step's; nobody but the caller need hold it. */
static void advance_with_plan(struct server *server, struct request *request,
                              struct shared_plan *plan)
{
    struct payload *payload = NULL;
    if (needs_whole(server, request) && !whole_steps_has(&server->whole, request->question.step))
        order_whole(server, plan);
    if (wants_tokens(&request->question)) {
        switch (payload_cache_find(&server->cache, key_of(&request->question), &payload)) {
        case PAYLOAD_HERE:
            break;
        case PAYLOAD_COMING:
            request->waits_for = WAITS_FOR_PAYLOAD;
            return;
        case PAYLOAD_ABSENT:
            order_payload(server, request, plan);
            return;
        }
    }
    deliver(server, request, plan, payload);
}

/* ---- from the start ---- */

static void advance(struct server *server, struct request *request)
{
    struct shared_plan *plan = NULL;
    enum plan_answer planned = plan_store_get_or_want(server->plans, request->question.step, &plan);
    if (request->wanted || planned == PLAN_AFTER_END) {
        /* It is counted once, whatever happens now. */
        if (request->wanted)
            plan_store_unwant(server->plans, request->question.step);
        request->wanted = false;
    }
    switch (planned) {
    case PLAN_READY:
        advance_with_plan(server, request, plan);
        shared_plan_unref(plan);
        break;
    case PLAN_WANTED:
        request->wanted = true;
        request->waits_for = WAITS_FOR_PLAN;
        break;
    case PLAN_AFTER_END:
        answer(server, request, WIRE_END, NULL);
        break;
    case PLAN_NO_MEMORY:
        answer(server, request, WIRE_BUSY, "the daemon is out of memory, ask again");
        break;
    }
}

static void on_deadline(void *context, struct deadline *deadline)
{
    struct server *server = context;
    struct request *request = list_entry(deadline, struct request, deadline);
    if (request->waits_for == WAITS_FOR_ROOM)
        answer(server, request, WIRE_BUSY,
               "too much is under way to this peer or in all, ask again");
    else
        answer(server, request, WIRE_TIMEOUT, NULL);
}

static struct request *request_new(struct server *server, struct session *session,
                                   const struct batch_question *question, uint64_t deadline_ms)
{
    struct request *request = calloc(1, sizeof *request);
    if (!request)
        return NULL;
    request->session = session;
    request->question = *question;
    request->since_ms = server_now_ms(server);
    request->deadline.passed = on_deadline;
    list_init(&request->stalled);
    if (!server_add_deadline(server, &request->deadline, request->since_ms + deadline_ms)) {
        free(request);
        return NULL;
    }
    hash_table_add(&server->waiting, &request->by_step, question->step);
    list_push_back(&session->requests, &request->of_session);
    session->waiting++;
    return request;
}

void request_begin(struct server *server, struct session *session,
                   const struct batch_question *question, uint32_t deadline_ms)
{
    if (session->waiting >= SESSION_REQUESTS || server->waiting.count >= SERVER_MOST_WAITING) {
        reply_no_batch(server, &session->peer, question, WIRE_BUSY, NULL);
        return;
    }
    struct request *request = request_new(server, session, question, deadline_ms);
    if (!request) {
        reply_no_batch(server, &session->peer, question, WIRE_BUSY, NULL);
        return;
    }
    advance(server, request);
}

/* ---- events ---- */

static struct request *request_of(struct hash_link *link)
{
    return list_entry(link, struct request, by_step);
}

void requests_on_plan(struct server *server, uint64_t step)
{
    struct hash_link *link = hash_table_find(&server->waiting, step);
    while (link) {
        struct hash_link *next = hash_table_same(link);
        if (request_of(link)->waits_for == WAITS_FOR_PLAN)
            advance(server, request_of(link));
        link = next;
    }
}

static bool waits_for_job(const struct request *request, const struct gather_job *job)
{
    return request->waits_for == WAITS_FOR_PAYLOAD &&
           request->question.microbatch == job->key.microbatch &&
           request->question.cp_rank == job->key.rank;
}

static void conclude(struct server *server, struct request *request, const struct gather_job *job)
{
    if (job->payload)
        deliver(server, request, job->plan, job->payload);
    else
        answer(server, request, reply_status(job->error.code), job->error.text);
}

/* Those whose step had to be read whole. */
static void advance_whole(struct server *server, const struct gather_job *job)
{
    struct hash_link *link = hash_table_find(&server->waiting, job->key.step);
    /* What was forgotten of the step may be here all the same. */
    if (link && !whole_steps_has(&server->whole, job->key.step))
        order_whole(server, job->plan);
    if (!whole_steps_has(&server->whole, job->key.step))
        return;
    while (link) {
        struct hash_link *next = hash_table_same(link);
        if (request_of(link)->waits_for == WAITS_FOR_WHOLE)
            advance_with_plan(server, request_of(link), job->plan);
        link = next;
    }
}

/* Everybody who waits for tokens of a step that is bad. */
static void answer_step(struct server *server, const struct bad_step *bad)
{
    struct hash_link *link = hash_table_find(&server->waiting, bad->key.step);
    while (link) {
        struct hash_link *next = hash_table_same(link);
        if (wants_tokens(&request_of(link)->question) || needs_whole(server, request_of(link)))
            answer_bad(server, request_of(link), bad);
        link = next;
    }
}

void requests_on_payload(struct server *server, const struct gather_job *job)
{
    const struct bad_step *bad = bad_steps_find(&server->bad_steps, job->key.step);
    if (!job->payload && bad) {
        answer_step(server, bad);
        return;
    }
    struct hash_link *link = hash_table_find(&server->waiting, job->key.step);
    while (link) {
        struct hash_link *next = hash_table_same(link);
        if (waits_for_job(request_of(link), job))
            conclude(server, request_of(link), job);
        link = next;
    }
    if (bad_shards_may_drop(server))
        advance_whole(server, job);
}

void requests_on_room(struct server *server)
{
    for (int i = 0; i < ROOM_AT_ONCE && server->stalled_left > 0; i++) {
        server->stalled_left--;
        if (list_empty(&server->stalled)) {
            server->stalled_left = 0;
            return;
        }
        struct request *request = list_entry(server->stalled.next, struct request, stalled);
        unstall(server, request);
        advance(server, request);
    }
}

void requests_answer_from(struct server *server, uint64_t step, enum wire_status status,
                          const char *message)
{
    struct hash_link *link = hash_table_each(&server->waiting, NULL);
    while (link) {
        struct hash_link *next = hash_table_each(&server->waiting, link);
        if (link->key >= step)
            answer(server, request_of(link), status, message);
        link = next;
    }
}

uint64_t request_oldest_ms(const struct server *server, const struct session *session)
{
    if (list_empty(&session->requests))
        return 0;
    const struct request *oldest = list_entry(session->requests.next, struct request, of_session);
    return server_now_ms(server) - oldest->since_ms;
}
