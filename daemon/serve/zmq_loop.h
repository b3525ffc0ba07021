/*
 * A ZeroMQ socket under a libuv loop.
 *
 * ZMQ_FD is edge-triggered and says only "look at ZMQ_EVENTS", which must be read again after every
 * send and receive. So the descriptor merely wakes the loop up; before the loop would block, a
 * prepare handle reads ZMQ_EVENTS, and if something can be received an idle handle keeps the loop
 * from blocking; a check handle then calls `ready`, in every turn until nothing is left.
 *
 * Thread: the loop's. Owner: whoever embeds it; it borrows the socket. Teardown: zmq_loop_close,
 * run the loop until `closed`, then close the socket.
 */
#ifndef BALLAST_SERVE_ZMQ_LOOP_H
#define BALLAST_SERVE_ZMQ_LOOP_H

#include <stdbool.h>
#include <uv.h>

#include "base/error.h"

struct zmq_loop;

/* A message can be received. Receive some without blocking; what is left comes with another call.
 */
typedef void zmq_loop_ready(struct zmq_loop *self);
typedef void zmq_loop_closed(struct zmq_loop *self);

struct zmq_loop {
    void *socket;
    zmq_loop_ready *ready;
    zmq_loop_closed *closed;
    void *context; /* the owner's */
    uv_poll_t poll;
    uv_prepare_t prepare;
    uv_check_t check;
    uv_idle_t idle;
    int open_handles;
};

/* Watches `socket`. EX_OSERR when libuv or ZeroMQ refuses; nothing is left open then. */
int zmq_loop_open(struct zmq_loop *self, uv_loop_t *loop, void *socket, zmq_loop_ready *ready,
                  void *context, struct error *err);

/* Stops watching; `closed` (may be NULL) is called from the loop when the memory may go. */
void zmq_loop_close(struct zmq_loop *self, zmq_loop_closed *closed);

#endif
