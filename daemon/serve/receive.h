/* Takes requests off a ROUTER socket: who sent each, its header frame, and how many frames came. */
#ifndef BALLAST_SERVE_RECEIVE_H
#define BALLAST_SERVE_RECEIVE_H

#include <zmq.h>

#include "serve/session.h"

struct incoming {
    struct peer_id peer;
    zmq_msg_t header; /* empty when no frame came behind the peer's id */
    unsigned frames;  /* behind the peer's id; only the first is kept */
};

/* Who sent it: the key that the handshake proved, or NULL on a socket without CURVE. */
const char *incoming_key(const struct incoming *incoming);

struct server;
typedef void incoming_handler(struct server *server, struct incoming *incoming);

/* Handles what has arrived, some at most, so that the loop looks at other things too. Does not
 * block. What is handed to `handle` is valid for that call. */
void incoming_handle_all(void *socket, struct server *server, incoming_handler *handle);

#endif
