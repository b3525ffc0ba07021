/*
 * Answers ZeroMQ when it asks whether a client's key may connect (ZAP, RFC 27).
 *
 * Without a handler ZeroMQ lets every key in. So it is opened before any socket is bound and closed
 * behind them; and whatever it cannot decide it refuses. ZeroMQ asks for every handshake of every
 * CURVE socket of the context, and for no other socket.
 * Thread: the loop's; a handshake waits while the loop is busy. Owner: the server.
 */
#ifndef BALLAST_SERVE_ZAP_H
#define BALLAST_SERVE_ZAP_H

#include "serve/access.h"
#include "serve/zmq_loop.h"

struct zap {
    void *socket;
    struct access *access;
    struct zmq_loop events;
};

/* `access` must outlive it. EX_OSERR. On failure zap_close is still right. */
int zap_open(struct zap *zap, void *context, uv_loop_t *loop, struct access *access,
             struct error *err);

/* Stops watching; run the loop before zap_close. A zeroed struct is accepted by both. */
void zap_stop(struct zap *zap);
void zap_close(struct zap *zap);

#endif
