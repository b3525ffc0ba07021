/* The client of the admin socket against a peer that answers right, wrongly, or not at all. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "ctl/admin_client.h"
#include "wire/frame.h"

#define PATIENCE_MS 20000 /* never reached by a test that passes */

static const struct keys no_keys = { .given = false };

/* Answers one request with the frames of `reply`, then ends. */
struct peer {
    void *context, *socket;
    char endpoint[256];
    pthread_t thread;
    const void *frames[3];
    size_t sizes[3], frame_count;
    char command[64], argument[64]; /* what it was asked */
};

static void note_request(struct peer *peer, zmq_msg_t *frame)
{
    struct wire_message request = { 0 };
    const char *why;
    if (wire_decode(zmq_msg_data(frame), zmq_msg_size(frame), 4096, &request, &why) ||
        request.type != WIRE_ADMIN)
        return;
    snprintf(peer->command, sizeof peer->command, "%s", request.admin->command);
    if (request.admin->n_arguments == 1)
        snprintf(peer->argument, sizeof peer->argument, "%s", request.admin->arguments[0]);
    wire_message_free(&request);
}

static void *serve_one(void *context)
{
    struct peer *peer = context;
    zmq_msg_t identity, frame;
    zmq_msg_init(&identity);
    zmq_msg_init(&frame);
    if (zmq_msg_recv(&identity, peer->socket, 0) >= 0 &&
        zmq_msg_recv(&frame, peer->socket, 0) >= 0) {
        note_request(peer, &frame);
        zmq_msg_send(&identity, peer->socket, ZMQ_SNDMORE);
        for (size_t i = 0; i < peer->frame_count; i++)
            zmq_send(peer->socket, peer->frames[i], peer->sizes[i],
                     i + 1 < peer->frame_count ? ZMQ_SNDMORE : 0);
    }
    zmq_msg_close(&identity);
    zmq_msg_close(&frame);
    return NULL;
}

static struct peer *peer_open(void)
{
    struct peer *peer = calloc(1, sizeof *peer);
    int patience = PATIENCE_MS;
    size_t bytes = sizeof peer->endpoint;
    peer->context = zmq_ctx_new();
    peer->socket = zmq_socket(peer->context, ZMQ_ROUTER);
    zmq_setsockopt(peer->socket, ZMQ_RCVTIMEO, &patience, sizeof patience);
    cr_assert_eq(zmq_bind(peer->socket, "tcp://127.0.0.1:*"), 0);
    cr_assert_eq(zmq_getsockopt(peer->socket, ZMQ_LAST_ENDPOINT, peer->endpoint, &bytes), 0);
    return peer;
}

static void peer_add(struct peer *peer, const void *frame, size_t bytes)
{
    peer->frames[peer->frame_count] = frame;
    peer->sizes[peer->frame_count++] = bytes;
}

static void peer_close(struct peer *peer)
{
    zmq_close(peer->socket);
    zmq_ctx_term(peer->context);
    free(peer);
}

/* Asks `peer` for `step 7`; returns the exit status. */
static int ask(struct peer *peer, char **ret_json, struct error *err)
{
    struct admin_client *client = NULL;
    const char *arguments[] = { "7" };
    cr_assert_eq(admin_open(peer->endpoint, &no_keys, &client, err), 0, "%s", err->text);
    cr_assert_eq(pthread_create(&peer->thread, NULL, serve_one, peer), 0);
    int code = admin_ask(client, "step", arguments, 1, PATIENCE_MS, ret_json, err);
    pthread_join(peer->thread, NULL);
    admin_close(client);
    return code;
}

static size_t reply_header(unsigned char *frame, enum wire_status status, char *message)
{
    Ballast__V1__AdminReply reply = BALLAST__V1__ADMIN_REPLY__INIT;
    reply.status = status;
    reply.message = message;
    size_t bytes = wire_encoded_bytes(&reply.base);
    cr_assert_leq(bytes, 256);
    wire_encode(&reply.base, frame);
    return bytes;
}

Test(admin_client, an_answer_comes_back_as_text)
{
    struct peer *peer = peer_open();
    unsigned char header[256];
    peer_add(peer, header, reply_header(header, WIRE_OK, ""));
    peer_add(peer, "{\"step\":7}", 10);
    char *json = NULL;
    struct error err = { 0 };
    cr_assert_eq(ask(peer, &json, &err), 0, "%s", err.text);
    cr_assert_str_eq(json, "{\"step\":7}");
    cr_assert_str_eq(peer->command, "step");
    cr_assert_str_eq(peer->argument, "7");
    free(json);
    peer_close(peer);
}

static void expect_refusal(enum wire_status status, char *message, int code, const char *text)
{
    struct peer *peer = peer_open();
    unsigned char header[256];
    peer_add(peer, header, reply_header(header, status, message));
    char *json = NULL;
    struct error err = { 0 };
    cr_expect_eq(ask(peer, &json, &err), code);
    cr_expect_str_eq(err.text, text);
    cr_expect_null(json);
    peer_close(peer);
}

Test(admin_client, a_refusal_is_told_with_its_status)
{
    expect_refusal(WIRE_END, "the job has 5 steps", EX_USAGE,
                   "the daemon refuses (END): the job has 5 steps");
    expect_refusal(WIRE_BUSY, "", EX_UNAVAILABLE,
                   "the daemon refuses (BUSY): too many requests under way, ask again");
    expect_refusal(WIRE_INTERNAL, "x", EX_SOFTWARE, "the daemon refuses (INTERNAL): x");
}

static void expect_misfit(struct peer *peer)
{
    char *json = NULL;
    struct error err = { 0 };
    cr_expect_eq(ask(peer, &json, &err), EX_UNAVAILABLE);
    cr_expect_not_null(strstr(err.text, "the answer is not that of an admin socket"), "%s",
                       err.text);
    cr_expect_null(json);
    peer_close(peer);
}

Test(admin_client, what_is_no_admin_socket_is_named_so)
{
    unsigned char header[256];
    struct peer *peer = peer_open();
    peer_add(peer, "HTTP/1.1 400", 12);
    expect_misfit(peer);

    peer = peer_open();
    peer_add(peer, header, reply_header(header, WIRE_OK, ""));
    expect_misfit(peer);

    peer = peer_open();
    peer_add(peer, header, reply_header(header, WIRE_OK, ""));
    peer_add(peer, "{}", 2);
    peer_add(peer, "{}", 2);
    expect_misfit(peer);

    Ballast__V1__Refusal refusal = BALLAST__V1__REFUSAL__INIT;
    refusal.status = WIRE_BAD_REQUEST;
    refusal.message = "this is for trainers";
    wire_encode(&refusal.base, header);
    peer = peer_open();
    peer_add(peer, header, wire_encoded_bytes(&refusal.base));
    expect_misfit(peer);
}

Test(admin_client, silence_ends_at_the_deadline)
{
    struct admin_client *client = NULL;
    struct error err = { 0 };
    char *json = NULL;
    cr_assert_eq(admin_open("ipc:///nowhere/ballast.sock", &no_keys, &client, &err), 0);
    cr_assert_eq(admin_ask(client, "status", NULL, 0, 1, &json, &err), EX_UNAVAILABLE);
    cr_assert_str_eq(err.text,
                     "no daemon answers at ipc:///nowhere/ballast.sock within 1 ms: "
                     "/nowhere/ballast.sock: No such file or directory; is ballastd running, with "
                     "serve.admin at this endpoint?");
    admin_close(client);

    struct peer *peer = peer_open(); /* accepts, and never answers */
    cr_assert_eq(admin_open(peer->endpoint, &no_keys, &client, &err), 0);
    cr_assert_eq(admin_ask(client, "status", NULL, 0, 500, &json, &err), EX_UNAVAILABLE);
    cr_assert_not_null(strstr(err.text, "no answer came within 500 ms"));
    cr_assert_null(json);
    admin_close(client);
    peer_close(peer);
}

Test(admin_client, a_text_that_is_no_endpoint_is_a_usage_error)
{
    struct admin_client *client = NULL;
    struct error err = { 0 };
    cr_assert_eq(admin_open("/run/ballast/admin.sock", &no_keys, &client, &err), EX_USAGE);
    cr_assert_null(client);
    cr_assert_not_null(strstr(err.text, "'/run/ballast/admin.sock' is no ZeroMQ endpoint"));
    admin_close(NULL);
}
