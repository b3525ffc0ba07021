/* Takes one request off a ROUTER socket: who sent it, its header frame, and how many frames came.
 */
#ifndef BALLAST_SERVE_RECEIVE_H
#define BALLAST_SERVE_RECEIVE_H

#include <stdbool.h>
#include <zmq.h>

#include "serve/session.h"

struct incoming {
    struct peer_id peer;
    zmq_msg_t header; /* empty when no frame came behind the peer's id */
    unsigned frames;  /* behind the peer's id; only the first is kept */
};

/* Who sent it: the key that the handshake proved, or NULL on a socket without CURVE. */
const char *incoming_key(const struct incoming *incoming);

/* False when nothing can be received now. Otherwise incoming_close it. Does not block. */
bool incoming_receive(void *socket, struct incoming *ret_incoming);
void incoming_close(struct incoming *incoming);

#endif
