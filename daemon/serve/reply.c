#include "serve/reply.h"

#include <errno.h>
#include <string.h>
#include <zmq.h>

#include "ballast/v1/ballast.pb-c.h"
#include "cp/cp.h"
#include "serve/reply_text.h"
#include "wire/frame.h"
#include "wire/limits.h"

#define MOST_FRAMES (WIRE_MAX_FRAMES + 1) /* the peer's id before them */

/* A reply under construction: frames that are closed if they are not sent. */
struct reply {
    zmq_msg_t frames[MOST_FRAMES];
    int count;
    size_t bytes;
};

static bool add_copy(struct reply *reply, const void *data, size_t bytes)
{
    zmq_msg_t *frame = &reply->frames[reply->count];
    if (zmq_msg_init_size(frame, bytes) != 0)
        return false;
    if (bytes)
        memcpy(zmq_msg_data(frame), data, bytes);
    reply->count++;
    reply->bytes += bytes;
    return true;
}

static bool add_header(struct reply *reply, const ProtobufCMessage *message)
{
    zmq_msg_t *frame = &reply->frames[reply->count];
    size_t bytes = wire_encoded_bytes(message);
    if (zmq_msg_init_size(frame, bytes) != 0)
        return false;
    wire_encode(message, zmq_msg_data(frame));
    reply->count++;
    reply->bytes += bytes;
    return true;
}

static void release_plan(void *plan)
{
    shared_plan_unref(plan);
}

static void release_payload(void *payload)
{
    payload_unref(payload);
}

/* The first table frame of a message carries the weight of the whole plan, which it keeps alive. */
static bool add_table(struct reply *reply, struct flight *flight, struct shared_plan *plan,
                      const void *table, size_t bytes)
{
    size_t weight = reply->count == 2 ? plan->bytes : 0;
    if (!flight_message(&reply->frames[reply->count], flight, table, bytes, weight, release_plan,
                        shared_plan_ref(plan))) {
        shared_plan_unref(plan);
        return false;
    }
    reply->count++;
    reply->bytes += bytes;
    return true;
}

static bool add_payload(struct reply *reply, struct flight *flight, struct payload *payload)
{
    if (!flight_message(&reply->frames[reply->count], flight, payload->tokens, payload->bytes,
                        payload->bytes, release_payload, payload_ref(payload))) {
        payload_unref(payload);
        return false;
    }
    reply->count++;
    reply->bytes += payload->bytes;
    return true;
}

static void close_from(struct reply *reply, int first)
{
    for (int i = first; i < reply->count; i++)
        zmq_msg_close(&reply->frames[i]);
}

/*
 * Sends every frame, or none: ROUTER_MANDATORY refuses the first when the peer is gone
 * (EHOSTUNREACH) or its queue is full (EAGAIN), and takes the others once it took the first.
 */
static bool send_all(struct server *server, void *socket, struct reply *reply)
{
    for (int i = 0; i < reply->count; i++) {
        int more = i + 1 < reply->count ? ZMQ_SNDMORE : 0;
        if (zmq_msg_send(&reply->frames[i], socket, ZMQ_DONTWAIT | more) >= 0)
            continue;
        if (zmq_errno() == EAGAIN)
            server->counters.congested++;
        else
            server->counters.unreachable++;
        close_from(reply, i);
        return false;
    }
    if (socket != server->operators.socket)
        server->counters.bytes_sent += reply->bytes;
    return true;
}

/* A reply of one header frame. Without memory there is none; the client asks again. */
static void send_header(struct server *server, void *socket, const struct peer_id *peer,
                        const ProtobufCMessage *message)
{
    struct reply reply = { .count = 0 };
    if (!add_copy(&reply, peer->bytes, peer->size) || !add_header(&reply, message)) {
        close_from(&reply, 0);
        return;
    }
    send_all(server, socket, &reply);
}

enum wire_status reply_status(int sysexit)
{
    switch (sysexit) {
    case 0:
        return WIRE_OK;
    case EX_DATAERR:
        return WIRE_BAD_DATA;
    case EX_IOERR:
    case EX_NOINPUT:
        return WIRE_IO_ERROR;
    case EX_UNAVAILABLE:
        return WIRE_NO_TOKENS;
    case EX_OSERR: /* memory or descriptors, which may be there again a little later */
        return WIRE_BUSY;
    default:
        return WIRE_INTERNAL;
    }
}

/* As PROTOCOL.md numbers them: what was used, so never CP_ADAPTIVE. */
static uint32_t sharding_number(enum cp_strategy used)
{
    if (used == CP_HYBRID)
        return 2;
    return used == CP_PER_DOCUMENT;
}

static void describe_batch(Ballast__V1__Batch *batch, const struct batch_question *question,
                           struct shared_plan *shared, const struct payload *payload)
{
    const struct step_plan *plan = &shared->plan;
    const struct plan_microbatch *microbatch = &plan->microbatches[question->microbatch];
    batch->status = WIRE_OK;
    batch->parts = question->parts;
    batch->digest.data = shared->plan.digest.bytes;
    batch->digest.len = DIGEST_BYTES;
    batch->sharding = sharding_number(microbatch->sharding);
    batch->tokens = step_plan_rank(plan, question->microbatch, question->cp_rank)->tokens;
    batch->padded_tokens = microbatch->padded_tokens;
    batch->microbatch_tokens = microbatch->tokens;
    batch->microbatch_loss_tokens = microbatch->loss_tokens;
    batch->step_tokens = plan->tokens;
    batch->step_loss_tokens = plan->loss_tokens;
    batch->workload = microbatch->workload;
    if (question->parts & BALLAST__V1__PART__PART_PIECES)
        batch->pieces_xxh3 = shared->pieces_xxh3[question->microbatch];
    if (question->parts & BALLAST__V1__PART__PART_CHUNKS)
        batch->chunks_xxh3 = shared->chunks_xxh3[question->microbatch];
    if (payload)
        batch->tokens_xxh3 = payload->xxh3;
}

/* Running totals over the chunk table: rank r owns chunks totals[r] up to totals[r + 1]. */
static void sum_rank_chunks(const struct step_plan *plan, uint32_t microbatch, uint32_t *totals)
{
    totals[0] = 0;
    for (uint32_t r = 0; r < plan->rank_count; r++)
        totals[r + 1] = totals[r] + step_plan_rank(plan, microbatch, r)->count;
}

static void echo(Ballast__V1__Batch *batch, const struct batch_question *question)
{
    batch->request = question->request;
    batch->step = question->step;
    batch->microbatch = question->microbatch;
    batch->cp_rank = question->cp_rank;
}

static bool add_parts(struct reply *reply, struct session *session,
                      const struct batch_question *question, struct shared_plan *shared,
                      struct payload *payload)
{
    const struct step_plan *plan = &shared->plan;
    const struct plan_microbatch *batch = &plan->microbatches[question->microbatch];
    if (question->parts & BALLAST__V1__PART__PART_PIECES &&
        !add_table(reply, session->flight, shared, plan->pieces + batch->first_piece,
                   batch->piece_count * sizeof *plan->pieces))
        return false;
    if (question->parts & BALLAST__V1__PART__PART_CHUNKS &&
        !add_table(reply, session->flight, shared, plan->chunks + batch->first_chunk,
                   batch->chunk_count * sizeof *plan->chunks))
        return false;
    return !payload || add_payload(reply, session->flight, payload);
}

bool reply_batch(struct server *server, struct session *session,
                 const struct batch_question *question, struct shared_plan *shared,
                 struct payload *payload)
{
    uint32_t totals[CP_MAX_RANKS + 1];
    sum_rank_chunks(&shared->plan, question->microbatch, totals);
    Ballast__V1__Batch batch = BALLAST__V1__BATCH__INIT;
    struct digest digest = lineage_digest(server->lineage, question->step);
    batch.job_digest = (ProtobufCBinaryData){ .len = DIGEST_BYTES, .data = digest.bytes };
    echo(&batch, question);
    describe_batch(&batch, question, shared, payload);
    batch.n_rank_chunks = (size_t)shared->plan.rank_count + 1;
    batch.rank_chunks = totals;

    struct reply reply = { .count = 0 };
    if (!add_copy(&reply, session->peer.bytes, session->peer.size) ||
        !add_header(&reply, &batch.base) ||
        !add_parts(&reply, session, question, shared, payload)) {
        close_from(&reply, 0);
        return false;
    }
    if (!send_all(server, server->trainers.socket, &reply))
        return false;
    session->batches++;
    session->bytes += reply.bytes;
    server->counters.batches++;
    return true;
}

void reply_digest(struct server *server, const struct peer_id *peer,
                  const struct batch_question *question, struct digest digest)
{
    Ballast__V1__Batch batch = BALLAST__V1__BATCH__INIT;
    echo(&batch, question);
    batch.digest = (ProtobufCBinaryData){ .len = DIGEST_BYTES, .data = digest.bytes };
    send_header(server, server->trainers.socket, peer, &batch.base);
}

void reply_no_batch(struct server *server, const struct peer_id *peer,
                    const struct batch_question *question, enum wire_status status,
                    const char *message)
{
    char text[WIRE_MAX_MESSAGE_BYTES + 1];
    Ballast__V1__Batch batch = BALLAST__V1__BATCH__INIT;
    echo(&batch, question);
    batch.status = status;
    batch.message = reply_text(text, message ? message : wire_status_text(status));
    server_count(server, status);
    send_header(server, server->trainers.socket, peer, &batch.base);
}

/* More names than a header has room for are left out: clients then show numbers. */
static void name_sources(const struct corpus *corpus, Ballast__V1__HelloReply *reply, char **names)
{
    if (corpus->source_count > WIRE_MAX_SOURCES)
        return;
    for (size_t i = 0; i < corpus->source_count; i++)
        names[i] = corpus->sources[i].name;
    reply->sources = names;
    reply->n_sources = corpus->source_count;
}

static void describe_layout(Ballast__V1__HelloReply *reply, const struct config *config)
{
    reply->dp = config->parallel.dp;
    reply->cp = config->parallel.cp;
    reply->microbatches = config->parallel.microbatches;
    reply->context_window = config->context_window;
    reply->max_sequence_length = config->max_sequence_length;
}

static void describe_ledger(Ballast__V1__HelloReply *reply, struct lineage *lineage, uint64_t step)
{
    reply->from_step = lineage_layout(lineage, step, &reply->until_step);
    reply->ledger_entries = (uint32_t)lineage_entries(lineage);
    if (!lineage_is_plain(lineage))
        reply->ledger_digest =
            (ProtobufCBinaryData){ .len = DIGEST_BYTES, .data = lineage->ledger.bytes };
}

void reply_hello(struct server *server, const struct peer_id *peer, uint64_t step,
                 enum wire_status status, const char *message)
{
    const struct config *config = server->config;
    struct digest digest = lineage_digest(server->lineage, step);
    char *names[WIRE_MAX_SOURCES];
    char text[WIRE_MAX_MESSAGE_BYTES + 1];
    char server_name[] = "ballastd " BALLAST_VERSION;
    struct plan_store_facts facts;
    plan_store_facts(server->plans, &facts);

    Ballast__V1__HelloReply reply = BALLAST__V1__HELLO_REPLY__INIT;
    reply.status = status;
    const char *change = server->snapshots ? snapshots_last_difference(server->snapshots) : NULL;
    if (status != WIRE_OK)
        reply.message = reply_text(text, message ? message : wire_status_text(status));
    else if (change)
        reply.message = reply_text(text, change);
    reply.job = config->job;
    reply.server = server_name;
    describe_layout(&reply, history_config(server->lineage->history, step));
    describe_ledger(&reply, server->lineage, step);
    reply.vocab_size = config->vocab_size;
    reply.token_bytes = server->corpus->token_bytes;
    reply.seed = config->seed;
    reply.job_digest.data = digest.bytes;
    reply.job_digest.len = DIGEST_BYTES;
    reply.steps = facts.end == PLAN_STORE_NO_END ? 0 : facts.end;
    name_sources(server->corpus, &reply, names);
    server_count(server, status);
    send_header(server, server->trainers.socket, peer, &reply.base);
}

void reply_refusal(struct server *server, void *socket, const struct peer_id *peer,
                   enum wire_status status, const char *message)
{
    char text[WIRE_MAX_MESSAGE_BYTES + 1];
    Ballast__V1__Refusal refusal = BALLAST__V1__REFUSAL__INIT;
    refusal.status = status;
    refusal.message = reply_text(text, message ? message : wire_status_text(status));
    server_count(server, status);
    send_header(server, socket, peer, &refusal.base);
}

void reply_admin(struct server *server, const struct peer_id *peer, enum wire_status status,
                 const char *message, const char *json)
{
    char text[WIRE_MAX_MESSAGE_BYTES + 1];
    Ballast__V1__AdminReply header = BALLAST__V1__ADMIN_REPLY__INIT;
    header.status = status;
    if (status != WIRE_OK)
        header.message = reply_text(text, message ? message : wire_status_text(status));
    struct reply reply = { .count = 0 };
    if (!add_copy(&reply, peer->bytes, peer->size) || !add_header(&reply, &header.base) ||
        (status == WIRE_OK && !add_copy(&reply, json, strlen(json)))) {
        close_from(&reply, 0);
        return;
    }
    send_all(server, server->operators.socket, &reply);
}
