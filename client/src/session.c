#include "session.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "answer.h"
#include "ask.h"
#include "clock.h"

#define FIRST_PAUSE_MS 50
#define PAUSE_DOUBLINGS 16u
#define PATIENCE_DOUBLINGS 3u
#define RECEIVE_AT_ONCE 128

static int64_t ms(int64_t milliseconds)
{
    return milliseconds * CLOCK_NS_PER_MS;
}

static unsigned at_most(unsigned value, unsigned most)
{
    return value < most ? value : most;
}

/* How long a daemon may take to greet us: longer each time that all of them have failed. */
static int64_t greeting_patience_ns(const ballast_client *client)
{
    unsigned doublings = at_most(client->session.rounds, PATIENCE_DOUBLINGS);
    return ms((int64_t)client->options.retry_ms << doublings);
}

const char *session_endpoint(const ballast_client *client)
{
    return client->options.endpoints[client->session.endpoint];
}

void session_each_request(ballast_client *client,
                          void (*visit)(ballast_client *client, struct request *request,
                                        void *context),
                          void *context)
{
    if (client->check.state != REQUEST_FREE)
        visit(client, &client->check, context);
    if (client->single.state != REQUEST_FREE)
        visit(client, &client->single, context);
    for (uint32_t i = 0; i < client->window.count; i++)
        visit(client, window_at(&client->window, i), context);
}

static void pause_session(ballast_client *client)
{
    struct session *session = &client->session;
    int64_t pause_ms = (int64_t)FIRST_PAUSE_MS << at_most(session->rounds, PAUSE_DOUBLINGS);
    if (pause_ms > client->options.retry_ms)
        pause_ms = client->options.retry_ms;
    session->state = SESSION_PAUSED;
    session->until_ns = clock_ns() + ms(pause_ms);
    session->failures = 0;
    session->rounds++;
}

static int connect_endpoint(ballast_client *client)
{
    struct session *session = &client->session;
    const struct link_options options = {
        .endpoint = session_endpoint(client),
        .retry_ms = client->options.retry_ms,
        .requests = client->options.prefetch + 2,
        .max_frame_bytes =
            client->facts_known ? facts_max_frame_bytes(&client->facts) : FACTS_MAX_FRAME_BYTES,
        .server_key = client->options.curve ? client->options.server_key : NULL,
        .public_key = client->options.public_key,
        .secret_key = client->options.secret_key,
    };
    int error = link_open(&session->link, client->context, &options);
    if (error)
        return error;
    session->state = SESSION_CONNECTING;
    session->until_ns = clock_ns() + greeting_patience_ns(client);
    session->blocked = false;
    return 0;
}

/* Connects, or pauses: what fails here (descriptors, memory) may work a little later. */
static void try_connect(ballast_client *client)
{
    int error = connect_endpoint(client);
    if (!error)
        return;
    problem_set(&client->session.trouble, BALLAST_SYSTEM, "%s: cannot connect: %s",
                session_endpoint(client), zmq_strerror(error));
    pause_session(client);
}

static void choose_next_endpoint(ballast_client *client)
{
    struct session *session = &client->session;
    size_t before = session->endpoint;
    do
        session->endpoint = (session->endpoint + 1) % client->options.endpoint_count;
    while (session->dropped[session->endpoint]);
    client->counters.failovers += session->endpoint != before;
}

static void take_back(ballast_client *client, struct request *request, void *context)
{
    (void)client;
    (void)context;
    if (request->state == REQUEST_SENT)
        request_again(request, 0);
}

/* The connection goes, and what was asked over it is to be asked again. */
static void disconnect(ballast_client *client)
{
    link_close(&client->session.link);
    session_each_request(client, take_back, NULL);
}

void session_fail_over(ballast_client *client)
{
    struct session *session = &client->session;
    disconnect(client);
    choose_next_endpoint(client);
    if (++session->failures >= session->left)
        pause_session(client);
    else
        try_connect(client);
}

void session_drop(ballast_client *client, ballast_status status, const char *why)
{
    struct session *session = &client->session;
    const char *text = why[0] ? why : ballast_status_text(status);
    session->dropped[session->endpoint] = true;
    session->left--;
    client->counters.dropped++;
    problem_set(&session->warning, status, "%s: %s", session_endpoint(client), text);
    if (session->left == 0) {
        session_fail(client, status, "%s: %s", session_endpoint(client), text);
        return;
    }
    session->trouble = session->warning;
    session_fail_over(client);
}

void session_fail(ballast_client *client, ballast_status status, const char *format, ...)
{
    char text[PROBLEM_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    problem_set(&client->session.fatal, status, "%s", text);
    disconnect(client);
    client->session.state = SESSION_FAILED;
}

void session_succeed(ballast_client *client)
{
    client->session.failures = 0;
    client->session.rounds = 0;
    problem_clear(&client->session.trouble);
}

/* Some at most: an endpoint that never stops talking must not keep the caller from its deadline. */
static void receive_some(ballast_client *client)
{
    struct frames frames;
    for (int i = 0; i < RECEIVE_AT_ONCE; i++) {
        if (!client->session.link.dealer || link_receive(&client->session.link, &frames) != 0)
            return;
        answer_take(client, &frames, clock_ns());
    }
}

/*
 * A handshake that failed fails again until somebody changes keys or lists. The next endpoint may
 * take us; the caller hears why at the end of its timeout.
 */
static bool left_at_the_door(ballast_client *client, const struct link_news *news)
{
    bool curve = client->options.curve;
    ballast_status status = BALLAST_DENIED;
    const char *why;
    if (news->denied) {
        why = "it does not take our key: is the public key on its list of clients, as a trainer's, "
              "and not expired?";
    } else if (news->foreign) {
        why = curve ? "it speaks no CURVE, and keys were given" : "it demands CURVE: give keys";
    } else if (news->failed) {
        why = curve ? "the handshake failed: is server_key that of this daemon?"
                    : "it closes the connection at once; if it demands CURVE, give keys";
        /* Once may be a daemon that goes; again and again is one that will not have us. Whoever has
         * been served has the right keys: then it is the network. */
        if (!client->session.rounds || client->facts_known)
            status = BALLAST_TIMEOUT;
    } else {
        return false;
    }
    problem_set(&client->session.trouble, status, "%s: %s", session_endpoint(client), why);
    session_fail_over(client);
    return true;
}

/*
 * A broken connection is left at once: what was asked over it will not be answered. While
 * connecting, only the last attempt counts.
 */
static void watch_link(ballast_client *client)
{
    struct session *session = &client->session;
    if (!session->link.dealer)
        return;
    struct link_news news = link_news(&session->link);
    if (left_at_the_door(client, &news))
        return;
    if (session->state == SESSION_CONNECTING ? !news.refused : !news.broken)
        return;
    problem_set(&session->trouble, BALLAST_TIMEOUT, "%s: %s", session_endpoint(client),
                news.broken ? "the connection broke" : "nobody listens there");
    session_fail_over(client);
}

static void say_hello(ballast_client *client)
{
    struct session *session = &client->session;
    if (session->state != SESSION_CONNECTING || ask_hello(client) != 0)
        return;
    session->state = SESSION_GREETING;
    session->until_ns = clock_ns() + greeting_patience_ns(client);
}

struct overdue {
    int64_t now_ns;
    bool silent; /* nothing has come since one of them should have been answered */
};

/* By its deadline a server answers in any case: one that has spoken since has lost this answer. */
static void notice_overdue(ballast_client *client, struct request *request, void *context)
{
    struct overdue *overdue = context;
    if (request->state != REQUEST_SENT || request->when_ns > overdue->now_ns)
        return;
    request->silences++;
    if (client->session.heard_ns > request->deadline_ns)
        request_again(request, 0);
    else
        overdue->silent = true;
}

/* What was lost is asked for again; an endpoint that is silent is left. */
static void check_silence(ballast_client *client, int64_t now_ns)
{
    struct session *session = &client->session;
    struct overdue overdue = { .now_ns = now_ns };
    session_each_request(client, notice_overdue, &overdue);
    if (!overdue.silent)
        return;
    problem_set(&session->trouble, BALLAST_TIMEOUT, "%s: silent for %lld ms",
                session_endpoint(client),
                (long long)((now_ns - session->heard_ns) / CLOCK_NS_PER_MS));
    session_fail_over(client);
}

static void check_time(ballast_client *client)
{
    struct session *session = &client->session;
    int64_t now_ns = clock_ns();
    if (session->state == SESSION_READY || session->state == SESSION_COMPARING) {
        check_silence(client, now_ns);
        return;
    }
    if (session->state == SESSION_FAILED || now_ns < session->until_ns)
        return;
    if (session->state == SESSION_PAUSED) {
        try_connect(client);
        return;
    }
    problem_set(&session->trouble, BALLAST_TIMEOUT, "%s: %s", session_endpoint(client),
                session->state == SESSION_GREETING ? "no answer to HELLO" : "cannot be reached");
    session_fail_over(client);
}

void session_pump(ballast_client *client)
{
    receive_some(client);
    watch_link(client);
    say_hello(client);
    check_time(client);
    ask_all(client, clock_ns());
}

static void find_next(ballast_client *client, struct request *request, void *context)
{
    int64_t *next_ns = context;
    bool timed = request->state == REQUEST_SENT ||
                 (request->state == REQUEST_DUE && !client->session.blocked &&
                  ask_permitted(client, request));
    if (timed && request->when_ns < *next_ns)
        *next_ns = request->when_ns;
}

/* When something must be done even if nothing comes. */
static int64_t next_deadline_ns(ballast_client *client)
{
    int64_t next_ns = INT64_MAX;
    enum session_state state = client->session.state;
    if (state == SESSION_READY || state == SESSION_COMPARING)
        session_each_request(client, find_next, &next_ns);
    else if (state != SESSION_FAILED)
        next_ns = client->session.until_ns;
    return next_ns;
}

void session_wait(ballast_client *client, int64_t until_ns)
{
    struct session *session = &client->session;
    int64_t next_ns = next_deadline_ns(client);
    int64_t wait_ns = (next_ns < until_ns ? next_ns : until_ns) - clock_ns();
    if (wait_ns <= 0)
        return;
    bool to_send = session->state == SESSION_CONNECTING || session->blocked;
    link_wait(&session->link, to_send, (long)((wait_ns + CLOCK_NS_PER_MS - 1) / CLOCK_NS_PER_MS));
}

ballast_status session_open(ballast_client *client)
{
    client->session.dropped = calloc(client->options.endpoint_count, sizeof(bool));
    if (!client->session.dropped)
        return BALLAST_NO_MEMORY;
    client->session.left = client->options.endpoint_count;
    int error = connect_endpoint(client);
    if (error == ENOMEM)
        return BALLAST_NO_MEMORY;
    return error ? BALLAST_SYSTEM : BALLAST_OK;
}

static void forget(ballast_client *client, struct request *request, void *context)
{
    (void)client;
    (void)context;
    request_free(request);
}

void session_close(ballast_client *client)
{
    session_each_request(client, forget, NULL);
    link_close(&client->session.link);
    free(client->session.dropped);
}
