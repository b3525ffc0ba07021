#include "fault/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "wire/table.h"

static void fail(const char *what)
{
    fprintf(stderr, "peer: %s\n", what);
    abort();
}

void peer_open(struct peer *peer, const char *endpoint)
{
    int linger = 0, unlimited = 0;
    *peer = (struct peer){ .context = zmq_ctx_new() };
    peer->socket = zmq_socket(peer->context, ZMQ_DEALER);
    zmq_setsockopt(peer->socket, ZMQ_LINGER, &linger, sizeof linger);
    zmq_setsockopt(peer->socket, ZMQ_SNDHWM, &unlimited, sizeof unlimited);
    zmq_setsockopt(peer->socket, ZMQ_RCVHWM, &unlimited, sizeof unlimited);
    if (zmq_connect(peer->socket, endpoint) != 0)
        fail(endpoint);
}

void peer_close(struct peer *peer)
{
    zmq_close(peer->socket);
    zmq_ctx_term(peer->context);
}

void peer_send_raw(struct peer *peer, const void *const frames[], const size_t bytes[],
                   size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (zmq_send(peer->socket, frames[i], bytes[i], i + 1 < count ? ZMQ_SNDMORE : 0) < 0)
            fail("cannot send");
}

void peer_send(struct peer *peer, const ProtobufCMessage *message)
{
    size_t bytes = wire_encoded_bytes(message);
    void *frame = malloc(bytes);
    wire_encode(message, frame);
    peer_send_raw(peer, (const void *const[]){ frame }, &bytes, 1);
    free(frame);
}

void peer_ask(struct peer *peer, const struct question *question)
{
    Ballast__V1__GetBatch get = BALLAST__V1__GET_BATCH__INIT;
    get.request = ++peer->requests;
    get.step = question->step;
    get.microbatch = question->microbatch;
    get.cp_rank = question->cp_rank;
    get.parts = question->parts;
    get.deadline_ms = question->deadline_ms;
    peer_send(peer, &get.base);
}

static void receive_frames(struct peer *peer, struct answer *answer, bool more)
{
    while (more) {
        if (answer->frame_count == WIRE_MAX_FRAMES)
            fail("too many frames in an answer");
        zmq_msg_t *frame = &answer->frames[answer->frame_count++];
        zmq_msg_init(frame);
        if (zmq_msg_recv(frame, peer->socket, 0) < 0)
            fail("torn answer");
        more = zmq_msg_more(frame);
    }
}

bool peer_receive(struct peer *peer, struct answer *ret_answer, int timeout_ms)
{
    zmq_pollitem_t item = { .socket = peer->socket, .events = ZMQ_POLLIN };
    if (zmq_poll(&item, 1, timeout_ms) <= 0)
        return false;
    zmq_msg_t header;
    zmq_msg_init(&header);
    if (zmq_msg_recv(&header, peer->socket, 0) < 0)
        fail("cannot receive");
    *ret_answer = (struct answer){ .frame_count = 0 };
    receive_frames(peer, ret_answer, zmq_msg_more(&header));
    const char *why = "";
    if (wire_decode(zmq_msg_data(&header), zmq_msg_size(&header), WIRE_MAX_REPLY_BYTES,
                    &ret_answer->message, &why) != WIRE_OK)
        fail(why);
    zmq_msg_close(&header);
    return true;
}

void answer_free(struct answer *answer)
{
    for (unsigned i = 0; i < answer->frame_count; i++)
        zmq_msg_close(&answer->frames[i]);
    wire_message_free(&answer->message);
    answer->frame_count = 0;
}

uint32_t answer_status(const struct answer *answer)
{
    switch (answer->message.type) {
    case WIRE_BATCH:
        return answer->message.batch->status;
    case WIRE_HELLO_REPLY:
        return answer->message.hello_reply->status;
    case WIRE_REFUSAL:
        return answer->message.refusal->status;
    default:
        fail("an answer of a type that no server sends");
        return 0;
    }
}

uint64_t answer_hash(const struct answer *answer)
{
    const Ballast__V1__Batch *batch = answer->message.batch;
    uint64_t hash = XXH3_64bits(batch->digest.data, batch->digest.len);
    for (unsigned i = 0; i < answer->frame_count; i++) {
        zmq_msg_t *frame = (zmq_msg_t *)&answer->frames[i];
        hash = XXH3_64bits_withSeed(zmq_msg_data(frame), zmq_msg_size(frame), hash);
    }
    return hash;
}

/* Frames come in the order of their Part values. */
static void check_sums(const struct answer *answer)
{
    const Ballast__V1__Batch *batch = answer->message.batch;
    const uint64_t sums[] = { batch->pieces_xxh3, batch->chunks_xxh3, batch->tokens_xxh3 };
    unsigned frame = 0;
    for (unsigned part = 0; part < 3; part++) {
        if (!(batch->parts >> part & 1))
            continue;
        if (frame == answer->frame_count)
            fail("a frame is missing");
        zmq_msg_t *message = (zmq_msg_t *)&answer->frames[frame++];
        if (wire_checksum(zmq_msg_data(message), zmq_msg_size(message)) != sums[part])
            fail("a checksum is wrong");
    }
    if (frame != answer->frame_count)
        fail("a frame too many");
}

void peer_get(struct peer *peer, const struct question *question, struct answer *ret_answer)
{
    peer_ask(peer, question);
    if (!peer_receive(peer, ret_answer, PEER_PATIENCE_MS))
        fail("no answer");
    if (ret_answer->message.type == WIRE_BATCH)
        check_sums(ret_answer);
}

uint64_t peer_step_hash(struct peer *peer, uint64_t step, uint32_t microbatches, uint32_t cp)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < microbatches * cp; i++) {
        struct question question = { step, i / cp, i % cp, PEER_ALL_PARTS, PEER_PATIENCE_MS };
        struct answer answer;
        peer_get(peer, &question, &answer);
        if (answer.message.type != WIRE_BATCH || answer_status(&answer) != WIRE_OK)
            fail("a batch is not OK");
        uint64_t part = answer_hash(&answer);
        hash = XXH3_64bits_withSeed(&part, sizeof part, hash);
        answer_free(&answer);
    }
    return hash;
}
