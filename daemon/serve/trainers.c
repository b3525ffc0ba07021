/* The trainers' socket: HELLO, GET_BATCH and ACK, and the refusal of everything else. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ballast/v1/ballast.pb-c.h"
#include "config/settings.h"
#include "serve/receive.h"
#include "serve/reply.h"
#include "serve/request.h"
#include "serve/state.h"
#include "wire/frame.h"
#include "wire/limits.h"

/* Who sent a message: `user` is whose key it is, "" on a socket without CURVE. */
struct caller {
    const struct peer_id *peer;
    const char *user;
};

#define ALL_PARTS                                                                                  \
    (BALLAST__V1__PART__PART_PIECES | BALLAST__V1__PART__PART_CHUNKS |                             \
     BALLAST__V1__PART__PART_TOKENS)

static void refuse(struct server *server, const struct peer_id *peer, enum wire_status status,
                   const char *why)
{
    reply_refusal(server, server->trainers.socket, peer, status, why);
}

#define TOO_MANY "too many clients (serve.max_clients, access.max_clients_per_key), ask again"

static struct session *hear(struct server *server, const struct caller *caller)
{
    return sessions_hear(&server->sessions, caller->peer, caller->user, server_now_ms(server));
}

/* ---- HELLO ---- */

static enum wire_status check_hello(const struct server *server, const Ballast__V1__Hello *hello,
                                    char *why, size_t bytes)
{
    const struct config *config = history_config(server->lineage->history, hello->step);
    const struct parallel *parallel = &config->parallel;
    char layout[256];
    if (*hello->job && strcmp(hello->job, server->config->job) != 0) {
        snprintf(why, bytes, "this daemon serves job '%.100s', not '%.100s'", server->config->job,
                 hello->job);
        return WIRE_WRONG_JOB;
    }
    if (hello->rank && (hello->rank->dp >= parallel->dp || hello->rank->cp >= parallel->cp)) {
        snprintf(why, bytes, "rank dp %u, cp %u is outside of this job's, where %s",
                 hello->rank->dp, hello->rank->cp,
                 lineage_layout_text(server->lineage, hello->step, layout, sizeof layout));
        return WIRE_OUT_OF_RANGE;
    }
    return WIRE_OK;
}

static void note_rank(struct session *session, const Ballast__V1__Rank *rank)
{
    session->dp = rank ? rank->dp : 0;
    session->cp = rank ? rank->cp : 0;
    session->pp = rank ? rank->pp : 0;
    session->tp = rank ? rank->tp : 0;
}

static void greet(struct server *server, struct session *session, const Ballast__V1__Hello *hello)
{
    session->greeted = true;
    session->superseded = false;
    session->incarnation = hello->incarnation;
    session->elsewhere = hello->daemons > 1;
    session->sent = sent_steps_begin(hello->next_step);
    whole_steps_drop_from(&server->whole, hello->next_step);
    note_rank(session, hello->rank);
    snprintf(session->client, sizeof session->client, "%s", hello->client);
    sessions_replace(&server->sessions, session);
}

static void on_hello(struct server *server, const struct caller *caller,
                     const struct wire_message *message)
{
    const struct peer_id *peer = caller->peer;
    const Ballast__V1__Hello *hello = message->hello;
    server->counters.hellos++;
    if (server->phase >= SERVER_DRAINING) {
        reply_hello(server, peer, hello->step, WIRE_DRAINING, NULL);
        return;
    }
    char why[WIRE_MAX_MESSAGE_BYTES + 1];
    enum wire_status status = check_hello(server, hello, why, sizeof why);
    if (status != WIRE_OK) {
        reply_hello(server, peer, hello->step, status, why);
        return;
    }
    struct session *session = hear(server, caller);
    if (!session) {
        reply_hello(server, peer, hello->step, WIRE_BUSY, TOO_MANY);
        return;
    }
    greet(server, session, hello);
    reply_hello(server, peer, hello->step, WIRE_OK, NULL);
}

/* ---- GET_BATCH ---- */

/* Says what has changed, where the state directory knows the job that the trainer was in. */
static void explain_wrong_job(const struct server *server, const Ballast__V1__GetBatch *get,
                              char *why, size_t bytes)
{
    struct digest digest = { 0 };
    const char *difference = NULL;
    if (server->snapshots && get->job_digest.len == DIGEST_BYTES) {
        memcpy(digest.bytes, get->job_digest.data, DIGEST_BYTES);
        difference = snapshots_difference(server->snapshots, digest);
    }
    snprintf(why, bytes,
             "the job digest differs: this daemon has another configuration, corpus or ledger (%zu "
             "entries)%s%s",
             lineage_entries(server->lineage), difference ? ": " : "",
             difference ? difference : "");
}

/*
 * May who was told this digest go on to this step? Yes, if it is one of the job's and the layout is
 * still the one that came with it; the header alone, which has the digest, may be had in any case.
 */
static enum wire_status check_digest(const struct server *server, const Ballast__V1__GetBatch *get,
                                     char *why, size_t bytes)
{
    const struct history *history = server->lineage->history;
    const struct config *told;
    struct digest digest;
    char layout[256];
    if (get->job_digest.len == 0)
        return WIRE_OK;
    memcpy(digest.bytes, get->job_digest.data, DIGEST_BYTES);
    if (!lineage_knows(server->lineage, digest, &told)) {
        explain_wrong_job(server, get, why, bytes);
        return WIRE_WRONG_JOB;
    }
    if (get->parts == 0 || config_same_layout(told, history_config(history, get->step)))
        return WIRE_OK;
    snprintf(why, bytes, "step %" PRIu64 " has another layout than this client was told: %s",
             get->step, lineage_layout_text(server->lineage, get->step, layout, sizeof layout));
    return WIRE_WRONG_LAYOUT;
}

/* Of the step before a change of the corpus the digest is known, and no more. */
static bool wants_last_digest(const struct server *server, const Ballast__V1__GetBatch *get)
{
    uint64_t first = history_first_step(server->lineage->history);
    return first > 0 && get->step == first - 1 && get->parts == 0;
}

static enum wire_status check_past(const struct server *server, const Ballast__V1__GetBatch *get,
                                   char *why, size_t bytes)
{
    uint64_t first = history_first_step(server->lineage->history);
    if (get->step >= first)
        return WIRE_OK;
    snprintf(why, bytes,
             "step %" PRIu64 " lies before step %" PRIu64 ", from which on another corpus was "
             "accepted: without the former one it cannot be planned",
             get->step, first);
    return WIRE_WRONG_JOB;
}

static enum wire_status check_get(const struct server *server, const Ballast__V1__GetBatch *get,
                                  char *why, size_t bytes)
{
    const struct config *config = history_config(server->lineage->history, get->step);
    uint32_t microbatches = config_step_microbatches(config);
    uint32_t cp = config->parallel.cp;
    if (get->parts & ~(uint32_t)ALL_PARTS) {
        snprintf(why, bytes, "parts 0x%x: only 0x%x are known", get->parts, ALL_PARTS);
        return WIRE_BAD_REQUEST;
    }
    enum wire_status status = check_digest(server, get, why, bytes);
    if (status == WIRE_OK && wants_last_digest(server, get))
        return WIRE_OK;
    if (status == WIRE_OK)
        status = check_past(server, get, why, bytes);
    if (status != WIRE_OK)
        return status;
    if (get->microbatch >= microbatches || get->cp_rank >= cp) {
        snprintf(why, bytes, "micro-batch %u of %u, CP rank %u of %u: no such one in this job",
                 get->microbatch, microbatches, get->cp_rank, cp);
        return WIRE_OUT_OF_RANGE;
    }
    if (get->parts & BALLAST__V1__PART__PART_TOKENS && !server->corpus->has_tokens) {
        snprintf(why, bytes, "%s", wire_status_text(WIRE_NO_TOKENS));
        return WIRE_NO_TOKENS;
    }
    if (server->phase >= SERVER_DRAINING) {
        snprintf(why, bytes, "%s", wire_status_text(WIRE_DRAINING));
        return WIRE_DRAINING;
    }
    if (get->step >= server->changing_from) {
        snprintf(why, bytes, "the ledger is being changed from step %" PRIu64 " on, ask again",
                 server->changing_from);
        return WIRE_BUSY;
    }
    return WIRE_OK;
}

static void note_requested(struct server *server, struct session *session,
                           const Ballast__V1__GetBatch *get)
{
    uint64_t step = get->step;
    session->superseded = false;
    session->has_requested = true;
    session->requested_step = step;
    if (get->parts && session_note_request(session, step))
        whole_steps_drop_from(&server->whole, step); /* read again before it is sent again */
    if (!server->has_requested || step > server->requested_step)
        server->requested_step = step;
    server->has_requested = true;
}

static void on_get_batch(struct server *server, const struct caller *caller,
                         const struct wire_message *message)
{
    const struct peer_id *peer = caller->peer;
    const Ballast__V1__GetBatch *get = message->get_batch;
    server->counters.get_batches++;
    struct batch_question question = { get->request, get->step, get->microbatch, get->cp_rank,
                                       get->parts };
    char why[WIRE_MAX_MESSAGE_BYTES + 1];
    enum wire_status status = check_get(server, get, why, sizeof why);
    if (status != WIRE_OK) {
        reply_no_batch(server, peer, &question, status, why);
        return;
    }
    if (wants_last_digest(server, get)) {
        reply_digest(server, peer, &question, server->lineage->history->ledger.origin.digest);
        return;
    }
    struct session *session = hear(server, caller);
    if (!session) {
        reply_no_batch(server, peer, &question, WIRE_BUSY, TOO_MANY);
        return;
    }
    note_requested(server, session, get);
    uint32_t deadline_ms =
        get->deadline_ms > WIRE_MAX_DEADLINE_MS ? WIRE_MAX_DEADLINE_MS : get->deadline_ms;
    request_begin(server, session, &question, deadline_ms);
}

/* ---- ACK ---- */

static void on_ack(struct server *server, const struct caller *caller,
                   const struct wire_message *message)
{
    const Ballast__V1__Ack *ack = message->ack;
    server->counters.acks++;
    struct session *session = hear(server, caller);
    if (!session)
        return;
    if (!session->greeted)
        note_rank(session, ack->rank);
    session->has_acked = true;
    session->acked_step = ack->step;
}

/* ---- all ---- */

/* What is answered, and whose keys may ask it. */
static const struct {
    enum wire_type type;
    unsigned roles;
    void (*run)(struct server *, const struct caller *, const struct wire_message *);
} handlers[] = {
    { WIRE_HELLO, ROLE_TRAINER, on_hello },
    { WIRE_GET_BATCH, ROLE_TRAINER, on_get_batch },
    { WIRE_ACK, ROLE_TRAINER, on_ack },
};

static void dispatch(struct server *server, const struct incoming *incoming,
                     const struct wire_message *message)
{
    struct caller caller = { .peer = &incoming->peer };
    size_t i = 0, count = sizeof handlers / sizeof *handlers;
    while (i < count && handlers[i].type != message->type)
        i++;
    if (i == count)
        refuse(server, caller.peer, WIRE_BAD_REQUEST,
               "this type of message is no request of a trainer");
    else if (!access_permits(&server->access, server->trainers.curve_secret_key != NULL,
                             incoming_key(incoming), handlers[i].roles, &caller.user))
        refuse(server, caller.peer, WIRE_DENIED, "that takes a key with the role trainer");
    else
        handlers[i].run(server, &caller, message);
}

static void handle(struct server *server, struct incoming *incoming)
{
    if (incoming->frames != 1) {
        refuse(server, &incoming->peer, WIRE_BAD_REQUEST, "a request is exactly one frame");
        return;
    }
    struct wire_message message = { 0 };
    const char *why = NULL;
    enum wire_status status =
        wire_decode(zmq_msg_data(&incoming->header), zmq_msg_size(&incoming->header),
                    WIRE_MAX_REQUEST_BYTES, &message, &why);
    if (status != WIRE_OK) {
        refuse(server, &incoming->peer, status, why);
        return;
    }
    dispatch(server, incoming, &message);
    wire_message_free(&message);
}

void trainers_ready(struct zmq_loop *events)
{
    incoming_handle_all(events->socket, events->context, handle);
}
