#include "serve/receive.h"

#include <stdbool.h>
#include <string.h>

#define RECEIVE_AT_ONCE 64 /* messages before the loop looks at other things */

/* Receives the rest of a message; only its first frame is kept. */
static void receive_frames(void *socket, struct incoming *incoming)
{
    zmq_msg_t frame;
    bool more = true;
    while (more) {
        zmq_msg_init(&frame);
        if (zmq_msg_recv(&frame, socket, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(&frame);
            return;
        }
        more = zmq_msg_more(&frame);
        if (incoming->frames++ == 0)
            zmq_msg_move(&incoming->header, &frame);
        zmq_msg_close(&frame);
    }
}

/* False when nothing can be received now. */
static bool receive(void *socket, struct incoming *ret_incoming)
{
    zmq_msg_t id;
    zmq_msg_init(&id);
    if (zmq_msg_recv(&id, socket, ZMQ_DONTWAIT) < 0) {
        zmq_msg_close(&id);
        return false;
    }
    size_t size = zmq_msg_size(&id);
    if (size > sizeof ret_incoming->peer.bytes) /* ZeroMQ's own limit, so this never happens */
        size = sizeof ret_incoming->peer.bytes;
    ret_incoming->peer.size = (unsigned char)size;
    memcpy(ret_incoming->peer.bytes, zmq_msg_data(&id), size);
    ret_incoming->frames = 0;
    zmq_msg_init(&ret_incoming->header);
    if (zmq_msg_more(&id))
        receive_frames(socket, ret_incoming);
    zmq_msg_close(&id);
    return true;
}

const char *incoming_key(const struct incoming *incoming)
{
    return zmq_msg_gets(&incoming->header, "User-Id");
}

void incoming_handle_all(void *socket, struct server *server, incoming_handler *handle)
{
    struct incoming incoming;
    for (int i = 0; i < RECEIVE_AT_ONCE && receive(socket, &incoming); i++) {
        handle(server, &incoming);
        zmq_msg_close(&incoming.header);
    }
}
