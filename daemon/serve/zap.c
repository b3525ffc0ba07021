#include "serve/zap.h"

#include <string.h>
#include <time.h>
#include <zmq.h>

#define ADDRESS "inproc://zeromq.zap.01"
#define VERSION "1.0"
#define RAW_KEY_BYTES 32
#define AT_ONCE 64 /* requests before the loop looks at other things */

/* The frames of a request, behind the two of its envelope. */
enum {
    PEER,
    DELIMITER,
    REQUEST_VERSION,
    SEQUENCE,
    DOMAIN,
    ADDRESS_OF,
    ROUTING_ID,
    MECHANISM,
    KEY,
    REQUEST_FRAMES
};

struct zap_request {
    zmq_msg_t frames[REQUEST_FRAMES];
    size_t count; /* of all frames that came; those beyond REQUEST_FRAMES are not kept */
};

static size_t kept(const struct zap_request *request)
{
    return request->count < REQUEST_FRAMES ? request->count : REQUEST_FRAMES;
}

static void request_close(struct zap_request *request)
{
    for (size_t i = 0; i < kept(request); i++)
        zmq_msg_close(&request->frames[i]);
}

/* False when none waits. */
static bool request_receive(void *socket, struct zap_request *ret_request)
{
    ret_request->count = 0;
    bool more = true;
    while (more) {
        zmq_msg_t frame;
        zmq_msg_init(&frame);
        if (zmq_msg_recv(&frame, socket, ZMQ_DONTWAIT) < 0)
            return ret_request->count > 0;
        more = zmq_msg_more(&frame);
        if (ret_request->count < REQUEST_FRAMES) {
            zmq_msg_init(&ret_request->frames[ret_request->count]);
            zmq_msg_move(&ret_request->frames[ret_request->count], &frame);
        }
        zmq_msg_close(&frame);
        ret_request->count++;
    }
    return true;
}

static bool frame_is(struct zap_request *request, int index, const char *text)
{
    zmq_msg_t *frame = &request->frames[index];
    return zmq_msg_size(frame) == strlen(text) &&
           memcmp(zmq_msg_data(frame), text, strlen(text)) == 0;
}

/* The client that asks, or NULL: refused. */
static const struct allowed_client *decide(struct zap *zap, struct zap_request *request)
{
    char key[WIRE_KEY_BYTES];
    bool understood = request->count == REQUEST_FRAMES &&
                      frame_is(request, REQUEST_VERSION, VERSION) &&
                      frame_is(request, MECHANISM, "CURVE") &&
                      zmq_msg_size(&request->frames[KEY]) == RAW_KEY_BYTES &&
                      zmq_z85_encode(key, zmq_msg_data(&request->frames[KEY]), RAW_KEY_BYTES);
    if (!understood) {
        access_count(zap->access, DENIED_UNDECIDABLE, "");
        return NULL;
    }
    return access_admit(zap->access, key, (int64_t)time(NULL));
}

/* What is lost here leaves the client waiting until its handshake times out: nobody gets in. */
static void reply(struct zap *zap, struct zap_request *request, const struct allowed_client *client)
{
    const char *const texts[] = { client ? "200" : "400", client ? "OK" : "denied",
                                  client ? client->key : "", "" };
    const int more = ZMQ_DONTWAIT | ZMQ_SNDMORE;
    if (kept(request) <= SEQUENCE)
        return;
    if (zmq_msg_send(&request->frames[PEER], zap->socket, more) < 0)
        return;
    zmq_msg_send(&request->frames[DELIMITER], zap->socket, more);
    zmq_send(zap->socket, VERSION, strlen(VERSION), more);
    zmq_msg_send(&request->frames[SEQUENCE], zap->socket, more);
    for (size_t i = 0; i < 4; i++)
        zmq_send(zap->socket, texts[i], strlen(texts[i]), i < 3 ? more : ZMQ_DONTWAIT);
}

static void on_ready(struct zmq_loop *events)
{
    struct zap *zap = events->context;
    struct zap_request request;
    for (int i = 0; i < AT_ONCE && request_receive(zap->socket, &request); i++) {
        reply(zap, &request, decide(zap, &request));
        request_close(&request);
    }
}

int zap_open(struct zap *zap, void *context, uv_loop_t *loop, struct access *access,
             struct error *err)
{
    int linger = 0;
    zap->access = access;
    zap->socket = zmq_socket(context, ZMQ_ROUTER);
    if (!zap->socket || zmq_setsockopt(zap->socket, ZMQ_LINGER, &linger, sizeof linger) != 0 ||
        zmq_bind(zap->socket, ADDRESS) != 0)
        return error_set(err, EX_OSERR, "cannot start the handler of client keys: %s",
                         zmq_strerror(zmq_errno()));
    return zmq_loop_open(&zap->events, loop, zap->socket, on_ready, zap, err);
}

void zap_stop(struct zap *zap)
{
    if (zap->events.open_handles)
        zmq_loop_close(&zap->events, NULL);
}

void zap_close(struct zap *zap)
{
    if (zap->socket)
        zmq_close(zap->socket);
    zap->socket = NULL;
}
