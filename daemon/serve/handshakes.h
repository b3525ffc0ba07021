/*
 * Counts the handshakes that fail on a CURVE socket before the handler of keys is asked: clients
 * without CURVE, with a wrong server key, or that talk nonsense. Thread: the loop's.
 */
#ifndef BALLAST_SERVE_HANDSHAKES_H
#define BALLAST_SERVE_HANDSHAKES_H

#include "serve/access.h"
#include "serve/zmq_loop.h"

struct handshakes {
    void *watched, *monitor;
    struct access *access;
    struct zmq_loop events;
};

/*
 * Watches `socket`; `name` is its own in the context. EX_OSERR. On failure
 * handshakes_close is still right.
 */
int handshakes_open(struct handshakes *handshakes, void *context, void *socket, const char *name,
                    uv_loop_t *loop, struct access *access, struct error *err);

/* Stops watching; run the loop before handshakes_close. A zeroed struct is accepted by both. */
void handshakes_stop(struct handshakes *handshakes);

/* Before the watched socket is closed. */
void handshakes_close(struct handshakes *handshakes);

#endif
