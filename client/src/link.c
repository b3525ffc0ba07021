#include "link.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "wire/frame.h"

#define LEAST_RECONNECT_MS 50
#define HANDSHAKE_EVENTS                                                                           \
    (ZMQ_EVENT_CONNECTED | ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_DISCONNECTED |                    \
     ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |                       \
     ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)

struct int_option {
    int name, value;
};

static uint32_t clamp(uint32_t value, uint32_t least, uint32_t most)
{
    return value < least ? least : value > most ? most : value;
}

static int set_keys(void *dealer, const struct link_options *options)
{
    const struct {
        int name;
        const char *key;
    } keys[] = {
        { ZMQ_CURVE_SERVERKEY, options->server_key },
        { ZMQ_CURVE_PUBLICKEY, options->public_key },
        { ZMQ_CURVE_SECRETKEY, options->secret_key },
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (zmq_setsockopt(dealer, keys[i].name, keys[i].key, strlen(keys[i].key) + 1))
            return zmq_errno();
    return 0;
}

/* Every default that would wait for ever, grow without bound or never notice is replaced. */
static int set_options(void *dealer, const struct link_options *options)
{
    int heartbeat_ms = (int)clamp(2 * options->retry_ms, 1000, 10000);
    const struct int_option values[] = {
        { ZMQ_LINGER, 0 },
        { ZMQ_IMMEDIATE, 1 },
        { ZMQ_SNDHWM, (int)(2 * options->requests + 8) },
        { ZMQ_RCVHWM, (int)((options->requests + 2) * WIRE_MAX_FRAMES) },
        { ZMQ_RECONNECT_IVL, LEAST_RECONNECT_MS },
        { ZMQ_RECONNECT_IVL_MAX, (int)clamp(options->retry_ms, 2 * LEAST_RECONNECT_MS, 10000) },
        { ZMQ_HANDSHAKE_IVL, (int)clamp(4 * options->retry_ms, 1000, 30000) },
        { ZMQ_HEARTBEAT_IVL, heartbeat_ms },
        /* Generous: a heartbeat waits behind a frame that is on its way. */
        { ZMQ_HEARTBEAT_TIMEOUT, 4 * heartbeat_ms },
        { ZMQ_TCP_KEEPALIVE, 1 },
        { ZMQ_TCP_KEEPALIVE_IDLE, 30 },
        { ZMQ_TCP_KEEPALIVE_INTVL, 10 },
        { ZMQ_TCP_KEEPALIVE_CNT, 3 },
        { ZMQ_IPV6, 1 },
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (zmq_setsockopt(dealer, values[i].name, &values[i].value, sizeof values[i].value))
            return zmq_errno();
    if (zmq_setsockopt(dealer, ZMQ_MAXMSGSIZE, &options->max_frame_bytes,
                       sizeof options->max_frame_bytes))
        return zmq_errno();
    return options->server_key ? set_keys(dealer, options) : 0;
}

static int open_monitor(struct link *link, void *context)
{
    /* A fresh name: the one before may still be on its way out of the context. */
    char address[64];
    snprintf(address, sizeof address, "inproc://monitor-%u", ++link->serial);
    if (zmq_socket_monitor(link->dealer, address, HANDSHAKE_EVENTS))
        return zmq_errno();
    link->monitor = zmq_socket(context, ZMQ_PAIR);
    if (!link->monitor)
        return zmq_errno();
    int linger = 0;
    if (zmq_setsockopt(link->monitor, ZMQ_LINGER, &linger, sizeof linger) ||
        zmq_connect(link->monitor, address))
        return zmq_errno();
    return 0;
}

int link_open(struct link *link, void *context, const struct link_options *options)
{
    link->dealer = zmq_socket(context, ZMQ_DEALER);
    if (!link->dealer)
        return zmq_errno();
    int error = set_options(link->dealer, options);
    if (!error)
        error = open_monitor(link, context);
    if (!error && zmq_connect(link->dealer, options->endpoint))
        error = zmq_errno();
    if (error)
        link_close(link);
    return error;
}

void link_close(struct link *link)
{
    if (link->dealer) {
        zmq_socket_monitor(link->dealer, NULL, 0);
        zmq_close(link->dealer);
    }
    if (link->monitor)
        zmq_close(link->monitor);
    link->dealer = link->monitor = NULL;
}

static void read_event(const struct frames *frames, struct link_news *news)
{
    uint16_t event;
    uint32_t value;
    if (frames->count < 1 || frames_size(frames, 0) < sizeof event + sizeof value)
        return;
    memcpy(&event, frames_data(frames, 0), sizeof event);
    memcpy(&value, (const char *)frames_data(frames, 0) + sizeof event, sizeof value);
    if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
        news->denied = true;
    if (event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL &&
        value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH)
        news->foreign = true;
    else if (event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL ||
             event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)
        news->failed = true;
    if (event == ZMQ_EVENT_DISCONNECTED)
        news->broken = true;
    if (event == ZMQ_EVENT_CONNECT_RETRIED)
        news->refused = true;
    if (event == ZMQ_EVENT_CONNECTED)
        news->refused = false;
}

struct link_news link_news(struct link *link)
{
    struct link_news news = { .broken = false };
    struct frames frames;
    while (link->monitor && frames_receive(link->monitor, &frames) == 0) {
        read_event(&frames, &news);
        frames_close(&frames);
    }
    return news;
}

int link_send(struct link *link, const ProtobufCMessage *message)
{
    zmq_msg_t frame;
    if (zmq_msg_init_size(&frame, wire_encoded_bytes(message)))
        return zmq_errno();
    wire_encode(message, zmq_msg_data(&frame));
    while (zmq_msg_send(&frame, link->dealer, ZMQ_DONTWAIT) < 0) {
        int error = zmq_errno();
        if (error == EINTR)
            continue;
        zmq_msg_close(&frame);
        return error;
    }
    return 0;
}

int link_receive(struct link *link, struct frames *ret_frames)
{
    return frames_receive(link->dealer, ret_frames);
}

void link_wait(struct link *link, bool to_send, long ms)
{
    zmq_pollitem_t items[] = {
        { .socket = link->dealer, .events = (short)(ZMQ_POLLIN | (to_send ? ZMQ_POLLOUT : 0)) },
        { .socket = link->monitor, .events = ZMQ_POLLIN },
    };
    zmq_poll(items, link->dealer ? 2 : 0, ms);
}
