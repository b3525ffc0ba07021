#include "support/fake_daemon.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

#include "support/fake_batch.h"
#include "wire/frame.h"
#include "wire/limits.h"

#define MAX_REQUESTS 4096
#define MAX_HELD 256
#define MAX_IDENTITY 256
#define PATIENCE_S 10
#define CHATS_AT_ONCE 64

struct peer {
    unsigned char identity[MAX_IDENTITY];
    size_t bytes;
};

/* A request that waits for its deadline. */
struct held {
    struct peer peer;
    uint64_t request;
    int64_t until_ms;
};

/*
 * The test's thread and the daemon's share what `lock` guards; everything else is the daemon's.
 * Teardown: fake_stop writes to `stop`, joins the thread, and closes what is left.
 */
struct fake_daemon {
    struct fake_job job;
    void *context, *router, *stop, *stop_seen;
    char endpoint[256];
    pthread_t thread;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct fake_behaviour behaviour;
    struct fake_request requests[MAX_REQUESTS];
    size_t request_count, hello_count, ack_count;
    uint64_t acked_step, next_step;
    struct {
        uint64_t step;
        uint8_t salt;
    } ledger[FAKE_MAX_ENTRIES];
    uint32_t entries;

    struct held held[MAX_HELD];
    size_t held_count;
    struct peer chatted; /* no bytes: nobody is chatted to */
};

struct fake_job fake_job_small(void)
{
    return (struct fake_job){ .name = "fake",
                              .dp = 1,
                              .cp = 1,
                              .microbatches = 2,
                              .vocab_size = 1000,
                              .lengths = { 8, 8 },
                              .piece_count = 2,
                              .steps = 10 };
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void send_header(struct fake_daemon *daemon, const struct peer *peer,
                        const ProtobufCMessage *message, bool more)
{
    unsigned char frame[WIRE_MAX_REPLY_BYTES];
    wire_encode(message, frame);
    zmq_send(daemon->router, peer->identity, peer->bytes, ZMQ_SNDMORE);
    zmq_send(daemon->router, frame, wire_encoded_bytes(message), more ? ZMQ_SNDMORE : 0);
}

static void send_status(struct fake_daemon *daemon, const struct peer *peer, uint64_t request,
                        uint32_t status)
{
    Ballast__V1__Batch batch = BALLAST__V1__BATCH__INIT;
    batch.status = status;
    batch.request = request;
    batch.message = "so the test wants it";
    send_header(daemon, peer, &batch.base, false);
}

static void send_batch(struct fake_daemon *daemon, const struct peer *peer,
                       const struct fake_batch *batch)
{
    const struct {
        const void *data;
        size_t bytes;
    } frames[] = { { batch->pieces, batch->pieces_bytes },
                   { batch->chunks, batch->chunks_bytes },
                   { batch->tokens, batch->tokens_bytes },
                   { "surplus", 7 } };
    if (batch->no_header) {
        zmq_send(daemon->router, peer->identity, peer->bytes, ZMQ_SNDMORE);
        zmq_send(daemon->router, "garbage", 7, 0);
        return;
    }
    send_header(daemon, peer, &batch->header.base, batch->frames > 0);
    for (unsigned i = 0; i < batch->frames; i++)
        zmq_send(daemon->router, frames[i].data, frames[i].bytes,
                 i + 1 < batch->frames ? ZMQ_SNDMORE : 0);
}

/* That of all entries up to a step, added up. */
static uint8_t ledger_salt(struct fake_daemon *daemon, uint64_t step)
{
    uint8_t salt = 0;
    pthread_mutex_lock(&daemon->lock);
    for (uint32_t i = 0; i < daemon->entries; i++)
        if (daemon->ledger[i].step <= step)
            salt = (uint8_t)(salt + daemon->ledger[i].salt);
    pthread_mutex_unlock(&daemon->lock);
    return salt;
}

static uint32_t ledger_entries(struct fake_daemon *daemon)
{
    pthread_mutex_lock(&daemon->lock);
    uint32_t entries = daemon->entries;
    pthread_mutex_unlock(&daemon->lock);
    return entries;
}

static void answer_hello(struct fake_daemon *daemon, const struct peer *peer,
                         const Ballast__V1__Hello *hello, const struct fake_behaviour *behaviour)
{
    const struct fake_job *job = &daemon->job;
    Ballast__V1__HelloReply reply = BALLAST__V1__HELLO_REPLY__INIT;
    uint8_t digest[16];
    char *sources[] = { "only" };
    fake_digest(job, UINT64_MAX, ledger_salt(daemon, hello->step), digest);
    reply.status = behaviour->hello_status;
    reply.message = behaviour->hello_status ? "so the test wants it" : "";
    reply.job = (char *)job->name;
    reply.server = "fake 1";
    reply.dp = job->dp;
    reply.cp = job->cp;
    reply.microbatches = job->microbatches;
    reply.context_window = 1024;
    reply.max_sequence_length = 1u << 20;
    reply.vocab_size = job->vocab_size;
    reply.token_bytes = job->vocab_size >= 1 && job->vocab_size <= 65536 ? 2 : 4;
    reply.seed = 42;
    reply.job_digest = (ProtobufCBinaryData){ .len = sizeof digest, .data = digest };
    reply.sources = sources;
    reply.n_sources = 1;
    reply.ledger_entries = ledger_entries(daemon);
    send_header(daemon, peer, &reply.base, false);
}

/* As large as a header may be, so that it takes longer to read than to send. */
static void chat(struct fake_daemon *daemon)
{
    char name[WIRE_MAX_NAME_BYTES + 1], *sources[WIRE_MAX_SOURCES];
    memset(name, 'x', WIRE_MAX_NAME_BYTES);
    name[WIRE_MAX_NAME_BYTES] = '\0';
    for (size_t i = 0; i < WIRE_MAX_SOURCES; i++)
        sources[i] = name;
    Ballast__V1__HelloReply reply = BALLAST__V1__HELLO_REPLY__INIT;
    reply.status = WIRE_BUSY;
    reply.sources = sources;
    reply.n_sources = WIRE_MAX_SOURCES;
    for (int i = 0; i < CHATS_AT_ONCE; i++)
        send_header(daemon, &daemon->chatted, &reply.base, false);
}

static void hold(struct fake_daemon *daemon, const struct peer *peer,
                 const Ballast__V1__GetBatch *get)
{
    if (daemon->held_count == MAX_HELD)
        abort();
    daemon->held[daemon->held_count++] = (struct held){ .peer = *peer,
                                                        .request = get->request,
                                                        .until_ms = now_ms() + get->deadline_ms };
}

static void serve_batch(struct fake_daemon *daemon, const struct peer *peer,
                        const Ballast__V1__GetBatch *get, const struct fake_behaviour *behaviour)
{
    struct fake_batch batch;
    fake_batch_init(&batch, &daemon->job, get, behaviour, ledger_salt(daemon, get->step));
    if (behaviour->twice) {
        send_status(daemon, peer, get->request + 1000000, 5);
        send_batch(daemon, peer, &batch);
    }
    send_batch(daemon, peer, &batch);
    fake_batch_fini(&batch);
}

/* Not 0: the status of the answer, as the test wants it. */
static uint32_t refusal(const struct fake_daemon *daemon, const Ballast__V1__GetBatch *get,
                        const struct fake_behaviour *behaviour)
{
    const struct fake_job *job = &daemon->job;
    uint64_t index = get->step * job->dp * job->microbatches + get->microbatch;
    for (int i = 0; i < FAKE_RANGES && get->parts; i++) {
        const struct fake_range *range = &behaviour->refused[i];
        if (range->status && index >= range->from && index < range->until)
            return range->status;
    }
    return behaviour->batch_status;
}

static void answer_batch(struct fake_daemon *daemon, const struct peer *peer,
                         const Ballast__V1__GetBatch *get, const struct fake_behaviour *behaviour)
{
    uint32_t status = refusal(daemon, get, behaviour);
    daemon->chatted = behaviour->chatter ? *peer : (struct peer){ .bytes = 0 };
    if (behaviour->ignore_batch || behaviour->chatter)
        return;
    if (status)
        send_status(daemon, peer, get->request, status);
    else if (behaviour->hold)
        hold(daemon, peer, get);
    else if (get->step >= daemon->job.steps)
        send_status(daemon, peer, get->request, WIRE_END);
    else
        serve_batch(daemon, peer, get, behaviour);
}

/* Notes the message for the test, and tells how to behave towards it. */
static struct fake_behaviour note(struct fake_daemon *daemon, const struct wire_message *message)
{
    pthread_mutex_lock(&daemon->lock);
    struct fake_behaviour behaviour = daemon->behaviour;
    if (message->type == WIRE_HELLO) {
        daemon->hello_count++;
        daemon->next_step = message->hello->next_step;
    }
    if (message->type == WIRE_ACK) {
        daemon->ack_count++;
        daemon->acked_step = message->ack->step;
    }
    if (message->type == WIRE_GET_BATCH && daemon->request_count < MAX_REQUESTS) {
        const Ballast__V1__GetBatch *get = message->get_batch;
        struct fake_request *request = &daemon->requests[daemon->request_count++];
        *request = (struct fake_request){ get->step,  get->microbatch,  get->cp_rank,
                                          get->parts, get->deadline_ms, { 0 } };
        if (get->job_digest.len == sizeof request->job_digest)
            memcpy(request->job_digest, get->job_digest.data, sizeof request->job_digest);
        if (daemon->behaviour.times && --daemon->behaviour.times == 0)
            daemon->behaviour = (struct fake_behaviour){ 0 };
    }
    pthread_cond_broadcast(&daemon->changed);
    pthread_mutex_unlock(&daemon->lock);
    return behaviour;
}

static void take_message(struct fake_daemon *daemon)
{
    struct peer peer;
    unsigned char frame[WIRE_MAX_REQUEST_BYTES];
    int identity = zmq_recv(daemon->router, peer.identity, sizeof peer.identity, 0);
    int bytes = zmq_recv(daemon->router, frame, sizeof frame, 0);
    if (identity < 0 || bytes < 0 || (size_t)bytes > sizeof frame)
        return;
    peer.bytes = (size_t)identity;
    struct wire_message message;
    const char *why;
    if (wire_decode(frame, (size_t)bytes, sizeof frame, &message, &why) != WIRE_OK)
        return;
    struct fake_behaviour behaviour = note(daemon, &message);
    if (message.type == WIRE_HELLO && !behaviour.ignore_hello)
        answer_hello(daemon, &peer, message.hello, &behaviour);
    if (message.type == WIRE_GET_BATCH)
        answer_batch(daemon, &peer, message.get_batch, &behaviour);
    wire_message_free(&message);
}

static void answer_held(struct fake_daemon *daemon)
{
    size_t kept = 0;
    for (size_t i = 0; i < daemon->held_count; i++) {
        struct held held = daemon->held[i];
        if (held.until_ms <= now_ms())
            send_status(daemon, &held.peer, held.request, WIRE_TIMEOUT);
        else
            daemon->held[kept++] = held;
    }
    daemon->held_count = kept;
}

static long ms_to_deadline(const struct fake_daemon *daemon)
{
    int64_t least = -1;
    for (size_t i = 0; i < daemon->held_count; i++) {
        int64_t left = daemon->held[i].until_ms - now_ms();
        left = left > 0 ? left : 0;
        least = least < 0 || left < least ? left : least;
    }
    return (long)least;
}

static void *serve(void *argument)
{
    struct fake_daemon *daemon = argument;
    for (;;) {
        zmq_pollitem_t items[] = { { .socket = daemon->router, .events = ZMQ_POLLIN },
                                   { .socket = daemon->stop_seen, .events = ZMQ_POLLIN } };
        zmq_poll(items, 2, daemon->chatted.bytes ? 0 : ms_to_deadline(daemon));
        if (items[1].revents)
            return NULL;
        if (items[0].revents)
            take_message(daemon);
        answer_held(daemon);
        if (daemon->chatted.bytes)
            chat(daemon);
    }
}

static bool open_sockets(struct fake_daemon *daemon, const char *endpoint)
{
    int linger = 0;
    size_t bytes = sizeof daemon->endpoint;
    daemon->context = zmq_ctx_new();
    daemon->router = zmq_socket(daemon->context, ZMQ_ROUTER);
    daemon->stop = zmq_socket(daemon->context, ZMQ_PAIR);
    daemon->stop_seen = zmq_socket(daemon->context, ZMQ_PAIR);
    return zmq_setsockopt(daemon->router, ZMQ_LINGER, &linger, sizeof linger) == 0 &&
           zmq_bind(daemon->router, endpoint) == 0 &&
           zmq_getsockopt(daemon->router, ZMQ_LAST_ENDPOINT, daemon->endpoint, &bytes) == 0 &&
           zmq_bind(daemon->stop, "inproc://stop") == 0 &&
           zmq_connect(daemon->stop_seen, "inproc://stop") == 0;
}

static void close_all(struct fake_daemon *daemon)
{
    zmq_close(daemon->router);
    zmq_close(daemon->stop);
    zmq_close(daemon->stop_seen);
    zmq_ctx_term(daemon->context);
    pthread_mutex_destroy(&daemon->lock);
    pthread_cond_destroy(&daemon->changed);
    free(daemon);
}

struct fake_daemon *fake_start(const struct fake_job *job, const char *endpoint)
{
    struct fake_daemon *daemon = calloc(1, sizeof *daemon);
    if (!daemon)
        return NULL;
    daemon->job = *job;
    pthread_mutex_init(&daemon->lock, NULL);
    pthread_cond_init(&daemon->changed, NULL);
    if (!open_sockets(daemon, endpoint) ||
        pthread_create(&daemon->thread, NULL, serve, daemon) != 0) {
        close_all(daemon);
        return NULL;
    }
    return daemon;
}

void fake_stop(struct fake_daemon *daemon)
{
    if (!daemon)
        return;
    zmq_send(daemon->stop, "", 0, 0);
    pthread_join(daemon->thread, NULL);
    close_all(daemon);
}

const char *fake_endpoint(const struct fake_daemon *daemon)
{
    return daemon->endpoint;
}

void fake_behave(struct fake_daemon *daemon, struct fake_behaviour behaviour)
{
    pthread_mutex_lock(&daemon->lock);
    daemon->behaviour = behaviour;
    pthread_mutex_unlock(&daemon->lock);
}

void fake_change(struct fake_daemon *daemon, uint64_t step, uint8_t salt)
{
    pthread_mutex_lock(&daemon->lock);
    if (daemon->entries == FAKE_MAX_ENTRIES)
        abort();
    daemon->ledger[daemon->entries].step = step;
    daemon->ledger[daemon->entries++].salt = salt;
    pthread_mutex_unlock(&daemon->lock);
}

/* Waits until *counter reaches `count`. Called with the lock held. */
static bool wait_for(struct fake_daemon *daemon, const size_t *counter, size_t count)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    while (*counter < count)
        if (pthread_cond_timedwait(&daemon->changed, &daemon->lock, &until) == ETIMEDOUT)
            return *counter >= count;
    return true;
}

bool fake_wait_requests(struct fake_daemon *daemon, size_t count)
{
    pthread_mutex_lock(&daemon->lock);
    bool come = wait_for(daemon, &daemon->request_count, count);
    pthread_mutex_unlock(&daemon->lock);
    return come;
}

bool fake_wait_acks(struct fake_daemon *daemon, size_t count, uint64_t *ret_step)
{
    pthread_mutex_lock(&daemon->lock);
    bool come = wait_for(daemon, &daemon->ack_count, count);
    *ret_step = daemon->acked_step;
    pthread_mutex_unlock(&daemon->lock);
    return come;
}

size_t fake_requests(struct fake_daemon *daemon, struct fake_request *requests, size_t capacity)
{
    pthread_mutex_lock(&daemon->lock);
    size_t count = daemon->request_count;
    memcpy(requests, daemon->requests, (count < capacity ? count : capacity) * sizeof *requests);
    pthread_mutex_unlock(&daemon->lock);
    return count;
}

size_t fake_hellos(struct fake_daemon *daemon)
{
    pthread_mutex_lock(&daemon->lock);
    size_t count = daemon->hello_count;
    pthread_mutex_unlock(&daemon->lock);
    return count;
}

uint64_t fake_next_step(struct fake_daemon *daemon)
{
    pthread_mutex_lock(&daemon->lock);
    uint64_t next_step = daemon->next_step;
    pthread_mutex_unlock(&daemon->lock);
    return next_step;
}
