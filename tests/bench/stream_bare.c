/* Receiving without libballast: from a daemon with checksums checked, and from a bare server. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include "frame_sizes.h"
#include "stream.h"
#include "wire/frame.h"
#include "wire/limits.h"
#include "wire/table.h"

/* What a bare client asks for. */
struct bare_request {
    uint32_t client, reply;
};

static void *dealer(const struct crew *crew)
{
    void *socket = zmq_socket(crew->zmq, ZMQ_DEALER);
    int linger = 0, wait = WAIT_MS;
    if (!socket || zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger) ||
        zmq_setsockopt(socket, ZMQ_RCVTIMEO, &wait, sizeof wait) ||
        zmq_connect(socket, crew->endpoint))
        die("cannot connect");
    return socket;
}

/* Receives one reply of exactly four frames; their messages are the caller's to close. */
static void receive(void *socket, zmq_msg_t frames[FRAMES_PER_REPLY], struct member *member)
{
    for (int i = 0; i < FRAMES_PER_REPLY; i++) {
        zmq_msg_init(&frames[i]);
        if (zmq_msg_recv(&frames[i], socket, 0) < 0)
            die("no reply");
        member->totals.bytes += zmq_msg_size(&frames[i]);
        if (zmq_msg_more(&frames[i]) != (i + 1 < FRAMES_PER_REPLY))
            die("a reply of another number of frames");
    }
    member->totals.messages++;
}

static void close_frames(zmq_msg_t frames[FRAMES_PER_REPLY])
{
    for (int i = 0; i < FRAMES_PER_REPLY; i++)
        zmq_msg_close(&frames[i]);
}

/* --- from a daemon --- */

static void send_get(void *socket, const struct member *member, uint32_t reply)
{
    const struct crew *crew = member->crew;
    Ballast__V1__GetBatch get = BALLAST__V1__GET_BATCH__INIT;
    get.request = reply;
    get.step = crew->first_step + reply / crew->microbatches;
    get.microbatch = member->index / crew->cp * crew->microbatches + reply % crew->microbatches;
    get.cp_rank = member->index % crew->cp;
    get.parts = BALLAST__V1__PART__PART_PIECES | BALLAST__V1__PART__PART_CHUNKS |
                BALLAST__V1__PART__PART_TOKENS;
    get.deadline_ms = WAIT_MS;
    unsigned char frame[256];
    size_t bytes = wire_encoded_bytes(&get.base);
    if (bytes > sizeof frame)
        die("request too large");
    wire_encode(&get.base, frame);
    if (zmq_send(socket, frame, bytes, 0) < 0)
        die("cannot send");
}

/* Checks status and checksums; returns which request was answered. */
static uint32_t check_reply(zmq_msg_t frames[FRAMES_PER_REPLY])
{
    struct wire_message message = { 0 };
    const char *why = NULL;
    if (wire_decode(zmq_msg_data(&frames[0]), zmq_msg_size(&frames[0]), WIRE_MAX_REPLY_BYTES,
                    &message, &why) != WIRE_OK)
        die(why);
    if (message.type != WIRE_BATCH || message.batch->status != WIRE_OK)
        die("a refusal");
    const uint64_t sums[] = { message.batch->pieces_xxh3, message.batch->chunks_xxh3,
                              message.batch->tokens_xxh3 };
    for (int i = 0; i < 3; i++)
        if (wire_checksum(zmq_msg_data(&frames[i + 1]), zmq_msg_size(&frames[i + 1])) != sums[i])
            die("a checksum does not match");
    uint32_t request = (uint32_t)message.batch->request;
    wire_message_free(&message);
    return request;
}

void *raw_member(void *argument)
{
    struct member *member = argument;
    struct crew *crew = member->crew;
    uint32_t replies = crew->sizes->replies;
    void *socket = dealer(crew);
    pthread_barrier_wait(&crew->start);
    uint32_t asked = 0;
    while (asked < replies && asked < IN_FLIGHT)
        send_get(socket, member, asked++);
    for (uint32_t i = 0; i < replies; i++) {
        zmq_msg_t frames[FRAMES_PER_REPLY];
        receive(socket, frames, member);
        if (asked < replies)
            send_get(socket, member, asked++);
        uint32_t request = check_reply(frames);
        if (request >= replies)
            die("a reply to no request");
        for (int f = 0; f < FRAMES_PER_REPLY; f++)
            frame_sizes_at(crew->sizes, member->index, request)->frames[f] =
                zmq_msg_size(&frames[f]);
        close_frames(frames);
    }
    zmq_close(socket);
    return NULL;
}

/* --- from the bare server --- */

static void send_bare(void *socket, const struct member *member, uint32_t reply)
{
    struct bare_request request = { member->index, reply };
    if (zmq_send(socket, &request, sizeof request, 0) < 0)
        die("cannot send");
}

void *bare_member(void *argument)
{
    struct member *member = argument;
    struct crew *crew = member->crew;
    uint32_t replies = crew->sizes->replies;
    void *socket = dealer(crew);
    pthread_barrier_wait(&crew->start);
    uint32_t asked = 0;
    while (asked < replies && asked < IN_FLIGHT)
        send_bare(socket, member, asked++);
    for (uint32_t i = 0; i < replies; i++) {
        zmq_msg_t frames[FRAMES_PER_REPLY];
        receive(socket, frames, member);
        if (asked < replies)
            send_bare(socket, member, asked++);
        close_frames(frames);
    }
    zmq_close(socket);
    return NULL;
}

static void keep(void *data, void *hint)
{
    (void)data; /* a store outlives every message */
    (void)hint;
}

/* Every reply in memory of its own, as a daemon's batches are. */
struct store {
    struct frame_sizes sizes;
    unsigned char **replies;
};

static uint64_t reply_bytes(const struct reply_sizes *sizes)
{
    uint64_t bytes = 0;
    for (int i = 0; i < FRAMES_PER_REPLY; i++)
        bytes += sizes->frames[i];
    return bytes;
}

static void store_init(struct store *store, const char *sizes_path)
{
    store->sizes = frame_sizes_read(sizes_path);
    size_t count = (size_t)store->sizes.clients * store->sizes.replies;
    store->replies = calloc(count, sizeof *store->replies);
    for (size_t i = 0; store->replies && i < count; i++) {
        uint64_t bytes = reply_bytes(&store->sizes.of[i]);
        store->replies[i] = malloc(bytes + 1);
        if (!store->replies[i])
            die("out of memory");
        memset(store->replies[i], (int)i, bytes);
    }
    if (!store->replies)
        die("out of memory");
}

static void store_fini(struct store *store)
{
    for (size_t i = 0; i < (size_t)store->sizes.clients * store->sizes.replies; i++)
        free(store->replies[i]);
    free(store->replies);
    frame_sizes_free(&store->sizes);
}

/* Sends the frames of one reply to the peer in `identity`, without a copy. */
static void send_reply(void *router, zmq_msg_t *identity, const struct reply_sizes *sizes,
                       unsigned char *bytes)
{
    if (zmq_msg_send(identity, router, ZMQ_SNDMORE) < 0)
        die("cannot send");
    for (int i = 0; i < FRAMES_PER_REPLY; i++) {
        zmq_msg_t frame;
        zmq_msg_init_data(&frame, bytes, sizes->frames[i], keep, NULL);
        bytes += sizes->frames[i];
        if (zmq_msg_send(&frame, router, i + 1 < FRAMES_PER_REPLY ? ZMQ_SNDMORE : 0) < 0)
            die("cannot send");
    }
}

static void answer(void *router, const struct store *store)
{
    zmq_msg_t identity;
    struct bare_request request;
    zmq_msg_init(&identity);
    if (zmq_msg_recv(&identity, router, 0) < 0 ||
        zmq_recv(router, &request, sizeof request, 0) != (int)sizeof request ||
        request.client >= store->sizes.clients || request.reply >= store->sizes.replies)
        die("a bad request");
    const struct reply_sizes *sizes = frame_sizes_at(&store->sizes, request.client, request.reply);
    send_reply(router, &identity, sizes, store->replies[sizes - store->sizes.of]);
}

static void *bind_router(void *context, char *endpoint, size_t endpoint_bytes)
{
    void *router = zmq_socket(context, ZMQ_ROUTER);
    int no_limit = 0, linger = 0;
    if (!router || zmq_setsockopt(router, ZMQ_SNDHWM, &no_limit, sizeof no_limit) ||
        zmq_setsockopt(router, ZMQ_LINGER, &linger, sizeof linger) ||
        zmq_bind(router, "tcp://127.0.0.1:*") ||
        zmq_getsockopt(router, ZMQ_LAST_ENDPOINT, endpoint, &endpoint_bytes))
        die("cannot bind");
    return router;
}

void bare_server(const char *sizes_path)
{
    struct store store;
    store_init(&store, sizes_path);
    char endpoint[256];
    void *context = zmq_ctx_new(), *router = bind_router(context, endpoint, sizeof endpoint);
    printf("%s\n", endpoint);
    fflush(stdout);

    zmq_pollitem_t items[] = { { router, 0, ZMQ_POLLIN, 0 },
                               { NULL, STDIN_FILENO, ZMQ_POLLIN, 0 } };
    while (zmq_poll(items, 2, -1) >= 0 && !items[1].revents)
        if (items[0].revents)
            answer(router, &store);
    zmq_close(router);
    zmq_ctx_term(context);
    store_fini(&store);
}
