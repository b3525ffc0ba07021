#include "serve/handshakes.h"

#include <stdio.h>
#include <string.h>
#include <zmq.h>

/* Not ZMQ_EVENT_HANDSHAKE_FAILED_AUTH: what the handler of keys refuses it counts itself. */
#define EVENTS (ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)
#define AT_ONCE 64

static void take_event(struct handshakes *handshakes, const unsigned char bytes[6])
{
    uint16_t event;
    uint32_t value;
    memcpy(&event, bytes, sizeof event);
    memcpy(&value, bytes + 2, sizeof value);
    bool mismatch = event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL &&
                    value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH;
    access_count(handshakes->access, mismatch ? DENIED_PLAINTEXT : DENIED_HANDSHAKE,
                 mismatch ? "a client without CURVE" : "a handshake that failed");
}

/* An event is two frames: number and value, then the address, which is our own. */
static bool receive_event(void *socket, unsigned char bytes[6])
{
    char address[8];
    int got = zmq_recv(socket, bytes, 6, ZMQ_DONTWAIT);
    if (got < 0)
        return false;
    zmq_recv(socket, address, sizeof address, ZMQ_DONTWAIT);
    return got >= 6;
}

static void on_ready(struct zmq_loop *events)
{
    struct handshakes *handshakes = events->context;
    unsigned char bytes[6];
    for (int i = 0; i < AT_ONCE && receive_event(handshakes->monitor, bytes); i++)
        take_event(handshakes, bytes);
}

int handshakes_open(struct handshakes *handshakes, void *context, void *socket, const char *name,
                    uv_loop_t *loop, struct access *access, struct error *err)
{
    char address[64];
    int linger = 0;
    /*
     * No bound on the queue: at one, ZeroMQ's I/O thread would wait for us, holding a lock that
     * closing needs. A failed handshake takes some 200 bytes of it, until the loop's next turn.
     */
    int unbounded = 0;
    snprintf(address, sizeof address, "inproc://handshakes-%s", name);
    handshakes->access = access;
    handshakes->monitor = zmq_socket(context, ZMQ_PAIR);
    if (!handshakes->monitor ||
        zmq_setsockopt(handshakes->monitor, ZMQ_LINGER, &linger, sizeof linger) != 0 ||
        zmq_setsockopt(handshakes->monitor, ZMQ_RCVHWM, &unbounded, sizeof unbounded) != 0 ||
        zmq_socket_monitor(socket, address, EVENTS) != 0)
        return error_set(err, EX_OSERR, "cannot watch handshakes: %s", zmq_strerror(zmq_errno()));
    handshakes->watched = socket;
    if (zmq_connect(handshakes->monitor, address) != 0)
        return error_set(err, EX_OSERR, "cannot watch handshakes: %s", zmq_strerror(zmq_errno()));
    return zmq_loop_open(&handshakes->events, loop, handshakes->monitor, on_ready, handshakes, err);
}

void handshakes_stop(struct handshakes *handshakes)
{
    if (handshakes->events.open_handles)
        zmq_loop_close(&handshakes->events, NULL);
}

void handshakes_close(struct handshakes *handshakes)
{
    if (handshakes->watched)
        zmq_socket_monitor(handshakes->watched, NULL, 0);
    if (handshakes->monitor)
        zmq_close(handshakes->monitor);
    handshakes->watched = handshakes->monitor = NULL;
}
