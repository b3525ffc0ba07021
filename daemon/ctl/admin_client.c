#include "ctl/admin_client.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include "ctl/clock.h"
#include "ctl/refusal.h"
#include "wire/frame.h"
#include "wire/limits.h"

/* The plan of a step of a large job is the largest answer. */
#define MAX_ANSWER_BYTES (INT64_C(256) << 20)

#define MONITOR_ENDPOINT "inproc://admin-monitor"
#define HANDSHAKE_EVENTS                                                                           \
    (ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |                             \
     ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)

struct admin_client {
    void *context, *socket;
    void *monitor; /* tells of handshakes */
    char *endpoint;
    bool curve, connected;
    const char *refused; /* why the daemon lets us not in, or NULL */
};

static int set_option(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value);
}

/*
 * Not ZMQ_IMMEDIATE: with it, ZeroMQ drops what has arrived and not been read when the peer closes,
 * and a daemon that was told to drain may close right behind its answer.
 */
static int configure(struct admin_client *client, const struct keys *keys)
{
    int64_t most = MAX_ANSWER_BYTES;
    if (set_option(client->socket, ZMQ_LINGER, 0) ||
        set_option(client->socket, ZMQ_RECONNECT_IVL, 50) ||
        set_option(client->monitor, ZMQ_LINGER, 0) ||
        zmq_setsockopt(client->socket, ZMQ_MAXMSGSIZE, &most, sizeof most) ||
        zmq_socket_monitor(client->socket, MONITOR_ENDPOINT, HANDSHAKE_EVENTS))
        return -1;
    if (keys->given && !keys_set(keys, client->socket))
        return -1;
    client->curve = keys->given;
    return zmq_connect(client->monitor, MONITOR_ENDPOINT);
}

int admin_open(const char *endpoint, const struct keys *keys, struct admin_client **ret_client,
               struct error *err)
{
    struct admin_client *client = calloc(1, sizeof *client);
    if (!client)
        return error_memory(err, "preparing the admin connection");
    client->endpoint = strdup(endpoint);
    client->context = zmq_ctx_new();
    client->socket = client->context ? zmq_socket(client->context, ZMQ_DEALER) : NULL;
    client->monitor = client->context ? zmq_socket(client->context, ZMQ_PAIR) : NULL;
    if (!client->endpoint || !client->socket || !client->monitor || configure(client, keys)) {
        int cause = errno;
        admin_close(client);
        return error_set(err, EX_OSERR, "cannot prepare a ZeroMQ socket: %s", zmq_strerror(cause));
    }
    if (zmq_connect(client->socket, endpoint)) {
        int cause = errno;
        admin_close(client);
        return error_set(err, EX_USAGE,
                         "'%s' is no ZeroMQ endpoint (%s), expected one like "
                         "ipc:///run/ballast/admin.sock or tcp://127.0.0.1:5756",
                         endpoint, zmq_strerror(cause));
    }
    *ret_client = client;
    return 0;
}

void admin_close(struct admin_client *client)
{
    if (!client)
        return;
    if (client->monitor)
        zmq_close(client->monitor);
    if (client->socket)
        zmq_close(client->socket);
    if (client->context)
        zmq_ctx_term(client->context);
    free(client->endpoint);
    free(client);
}

/* What can be said of a socket file that nobody answers at; empty where nothing can. */
static void describe_socket_file(const char *endpoint, char *text, size_t bytes)
{
    const char *path = endpoint + strlen("ipc://");
    *text = '\0';
    if (strncmp(endpoint, "ipc://", strlen("ipc://")) != 0 || *path == '@')
        return;
    if (access(path, W_OK))
        snprintf(text, bytes, "%s: %s; ", path, strerror(errno));
}

static void take_event(struct admin_client *client, const char bytes[6])
{
    uint16_t event;
    uint32_t value;
    memcpy(&event, bytes, sizeof event);
    memcpy(&value, bytes + sizeof event, sizeof value);
    if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED)
        client->connected = true;
    else if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
        client->refused = "the daemon does not take this key: is the public one on its list of "
                          "clients (access.clients), and not expired?";
    else if (event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL &&
             value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH)
        client->refused = client->curve ? "it speaks no CURVE: leave out --key and --server-key"
                                        : "it demands CURVE: give --key and --server-key";
    else
        client->refused = client->curve
                              ? "the handshake failed: is --server-key that of this daemon?"
                              : "it closes the connection at once: if it demands CURVE, give --key "
                                "and --server-key";
}

/* An event is two frames: number and value, then an address. */
static void take_events(struct admin_client *client)
{
    char bytes[6], address[8];
    while (zmq_recv(client->monitor, bytes, sizeof bytes, ZMQ_DONTWAIT) == sizeof bytes) {
        zmq_recv(client->monitor, address, sizeof address, ZMQ_DONTWAIT);
        take_event(client, bytes);
    }
}

static int no_answer(const struct admin_client *client, int timeout_ms, struct error *err)
{
    if (client->refused)
        return error_set(err, EX_NOPERM, "%s: %s", client->endpoint, client->refused);
    if (client->connected)
        return error_set(err, EX_UNAVAILABLE,
                         "connected to %s, but no answer came within %d ms: ask again with a "
                         "longer --timeout",
                         client->endpoint, timeout_ms);
    char socket_file[256];
    describe_socket_file(client->endpoint, socket_file, sizeof socket_file);
    return error_set(
        err, EX_UNAVAILABLE,
        "no daemon answers at %s within %d ms: %sis ballastd running, with serve.admin "
        "at this endpoint?",
        client->endpoint, timeout_ms, socket_file);
}

static int not_an_admin_socket(const struct admin_client *client, const char *why,
                               struct error *err)
{
    return error_set(err, EX_UNAVAILABLE,
                     "%s: the answer is not that of an admin socket (%s): is it serve.admin of a "
                     "ballastd of this version?",
                     client->endpoint, why);
}

/* False at the deadline, or when the daemon does not let us in. */
static bool wait_for_answer(struct admin_client *client, uint64_t deadline)
{
    for (;;) {
        uint64_t now = clock_ms();
        long left = now < deadline ? (long)(deadline - now) : 0;
        zmq_pollitem_t items[] = { { .socket = client->socket, .events = ZMQ_POLLIN },
                                   { .socket = client->monitor, .events = ZMQ_POLLIN } };
        zmq_poll(items, 2, left);
        if (items[0].revents & ZMQ_POLLIN)
            return true;
        take_events(client);
        /* Not ready, or a signal such as that of a resized terminal came between. */
        if (left == 0 || client->refused)
            return false;
    }
}

static int send_request(struct admin_client *client, const char *command,
                        const char *const *arguments, size_t argument_count, struct error *err)
{
    Ballast__V1__Admin request = BALLAST__V1__ADMIN__INIT;
    /* The generated struct is not const-correct; packing only reads. */
    request.command = (char *)(uintptr_t)command;
    request.arguments = (char **)(uintptr_t)arguments;
    request.n_arguments = argument_count;
    size_t bytes = wire_encoded_bytes(&request.base);
    if (bytes > WIRE_MAX_REQUEST_BYTES)
        return error_set(err, EX_USAGE, "the arguments take %zu bytes, expected at most %u", bytes,
                         WIRE_MAX_REQUEST_BYTES);
    unsigned char frame[WIRE_MAX_REQUEST_BYTES];
    wire_encode(&request.base, frame);
    if (zmq_send(client->socket, frame, bytes, ZMQ_DONTWAIT) < 0)
        return error_set(err, EX_UNAVAILABLE, "%s: cannot send: %s", client->endpoint,
                         zmq_strerror(errno));
    return 0;
}

/* Reads the header frame: 0 when the answer follows. */
static int read_header(struct admin_client *client, zmq_msg_t *frame, struct error *err)
{
    struct wire_message message = { 0 };
    const char *why = "";
    if (wire_decode(zmq_msg_data(frame), zmq_msg_size(frame), WIRE_MAX_REPLY_BYTES, &message, &why))
        return not_an_admin_socket(client, why, err);
    int code = 0;
    if (message.type == WIRE_REFUSAL)
        code = not_an_admin_socket(client, message.refusal->message, err);
    else if (message.type != WIRE_ADMIN_REPLY)
        code = not_an_admin_socket(client, "a reply of another kind", err);
    else if (message.admin_reply->status != WIRE_OK)
        code = error_set(
            err, refusal_exit_code(message.admin_reply->status), "the daemon refuses (%s): %s",
            wire_status_name(message.admin_reply->status),
            *message.admin_reply->message ? message.admin_reply->message
                                          : wire_status_text(message.admin_reply->status));
    wire_message_free(&message);
    return code;
}

static int read_json(struct admin_client *client, zmq_msg_t *frame, char **ret_json,
                     struct error *err)
{
    if (zmq_msg_recv(frame, client->socket, ZMQ_DONTWAIT) < 0)
        return not_an_admin_socket(client, zmq_strerror(errno), err);
    if (zmq_msg_more(frame))
        return not_an_admin_socket(client, "more than two frames", err);
    char *json = strndup(zmq_msg_data(frame), zmq_msg_size(frame));
    if (!json)
        return error_memory(err, "reading the answer");
    *ret_json = json;
    return 0;
}

static int read_reply(struct admin_client *client, char **ret_json, struct error *err)
{
    zmq_msg_t frame;
    zmq_msg_init(&frame);
    int code = 0;
    if (zmq_msg_recv(&frame, client->socket, ZMQ_DONTWAIT) < 0)
        code = error_set(err, EX_UNAVAILABLE, "%s: cannot receive: %s", client->endpoint,
                         zmq_strerror(errno));
    if (!code)
        code = read_header(client, &frame, err);
    if (!code && !zmq_msg_more(&frame))
        code = not_an_admin_socket(client, "the frame with the answer is missing", err);
    if (!code)
        code = read_json(client, &frame, ret_json, err);
    zmq_msg_close(&frame);
    return code;
}

int admin_ask(struct admin_client *client, const char *command, const char *const *arguments,
              size_t argument_count, int timeout_ms, char **ret_json, struct error *err)
{
    uint64_t deadline = clock_ms() + (uint64_t)timeout_ms;
    int code = send_request(client, command, arguments, argument_count, err);
    if (code)
        return code;
    if (!wait_for_answer(client, deadline))
        return no_answer(client, timeout_ms, err);
    return read_reply(client, ret_json, err);
}
