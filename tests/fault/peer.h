/*
 * A peer of the daemon that speaks the protocol by proto/wire alone, so that a test can ask
 * anything and sees every answer. One thread at a time.
 */
#ifndef BALLAST_TESTS_PEER_H
#define BALLAST_TESTS_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

#include "wire/frame.h"
#include "wire/limits.h"

#define PEER_PATIENCE_MS 60000 /* far more than any answer needs, also under a sanitizer */
#define PEER_ALL_PARTS 7u

struct peer {
    void *context, *socket;
    uint64_t requests; /* sent so far; the last one's number */
};

void peer_open(struct peer *peer, const char *endpoint);
void peer_close(struct peer *peer);

/* Sends frames as they are. */
void peer_send_raw(struct peer *peer, const void *const frames[], const size_t bytes[],
                   size_t count);

void peer_send(struct peer *peer, const ProtobufCMessage *message);

struct question {
    uint64_t step;
    uint32_t microbatch, cp_rank, parts, deadline_ms;
};

void peer_ask(struct peer *peer, const struct question *question);

struct answer {
    struct wire_message message;
    zmq_msg_t frames[WIRE_MAX_FRAMES];
    unsigned frame_count; /* behind the header */
};

/* The next answer; false when none comes in time. */
bool peer_receive(struct peer *peer, struct answer *ret_answer, int timeout_ms);
void answer_free(struct answer *answer);

/* The status of a BATCH, HELLO_REPLY or REFUSAL. */
uint32_t answer_status(const struct answer *answer);

/* A hash of the digest and every frame behind the header. */
uint64_t answer_hash(const struct answer *answer);

/* Asks and waits for one answer, checked against the checksums; aborts when none comes. */
void peer_get(struct peer *peer, const struct question *question, struct answer *ret_answer);

/* Asks for everything of every rank of a step: a hash of it all. Aborts unless all is OK. */
uint64_t peer_step_hash(struct peer *peer, uint64_t step, uint32_t microbatches, uint32_t cp);

#endif
