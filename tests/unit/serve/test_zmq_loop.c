/*
 * ZeroMQ under libuv: nothing that can be received is left lying, although the descriptor tells of
 * it only once.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <zmq.h>

#include "serve/zmq_loop.h"

#define BURST 1000
#define GIVE_UP_MS 30000

struct bench {
    uv_loop_t loop;
    uv_timer_t give_up;
    void *context, *receiver, *sender;
    struct zmq_loop events;
    unsigned received, at_once;
    bool answers, gave_up;
};

static void on_give_up(uv_timer_t *timer)
{
    struct bench *bench = timer->data;
    bench->gave_up = true;
    uv_stop(&bench->loop);
}

/* Takes `at_once` messages a call, though more are there. */
static void on_ready(struct zmq_loop *events)
{
    struct bench *bench = events->context;
    char text[64];
    for (unsigned i = 0; i < bench->at_once; i++) {
        int bytes = zmq_recv(events->socket, text, sizeof text, ZMQ_DONTWAIT);
        if (bytes < 0)
            break;
        bench->received++;
        if (bench->answers)
            zmq_send(events->socket, text, (size_t)bytes, ZMQ_DONTWAIT);
    }
    if (bench->received >= BURST)
        uv_stop(&bench->loop);
}

static void bench_open(struct bench *bench, const char *address)
{
    memset(bench, 0, sizeof *bench);
    struct error err = { 0 };
    char bound[256];
    size_t bytes = sizeof bound;
    cr_assert_eq(uv_loop_init(&bench->loop), 0);
    bench->context = zmq_ctx_new();
    bench->receiver = zmq_socket(bench->context, ZMQ_PAIR);
    bench->sender = zmq_socket(bench->context, ZMQ_PAIR);
    cr_assert_eq(zmq_bind(bench->receiver, address), 0);
    cr_assert_eq(zmq_getsockopt(bench->receiver, ZMQ_LAST_ENDPOINT, bound, &bytes), 0);
    cr_assert_eq(zmq_connect(bench->sender, bound), 0);
    cr_assert_eq(
        zmq_loop_open(&bench->events, &bench->loop, bench->receiver, on_ready, bench, &err), 0,
        "%s", err.text);
    bench->at_once = 1;
    uv_timer_init(&bench->loop, &bench->give_up);
    bench->give_up.data = bench;
    uv_timer_start(&bench->give_up, on_give_up, GIVE_UP_MS, 0);
}

static void bench_close(struct bench *bench)
{
    zmq_loop_close(&bench->events, NULL);
    uv_close((uv_handle_t *)&bench->give_up, NULL);
    uv_run(&bench->loop, UV_RUN_DEFAULT);
    cr_assert_eq(uv_loop_close(&bench->loop), 0, "a handle was left open");
    zmq_close(bench->receiver);
    zmq_close(bench->sender);
    zmq_ctx_term(bench->context);
}

static void send_burst(struct bench *bench)
{
    for (unsigned i = 0; i < BURST; i++)
        cr_assert_eq(zmq_send(bench->sender, &i, sizeof i, 0), (int)sizeof i);
}

static void run(struct bench *bench)
{
    uv_run(&bench->loop, UV_RUN_DEFAULT);
    cr_assert_not(bench->gave_up, "stuck after %u of %d messages", bench->received, BURST);
    cr_assert_eq(bench->received, BURST);
}

Test(zmq_loop, a_burst_arrives_whole_though_one_message_is_taken_a_turn)
{
    struct bench bench;
    bench_open(&bench, "tcp://127.0.0.1:*");
    send_burst(&bench);
    run(&bench);
    bench_close(&bench);
}

Test(zmq_loop, a_burst_that_came_before_the_loop_ran_arrives)
{
    struct bench bench;
    bench_open(&bench, "inproc://burst");
    send_burst(&bench);
    bench.at_once = 7;
    run(&bench);
    bench_close(&bench);
}

Test(zmq_loop, sending_in_between_hides_nothing)
{
    struct bench bench;
    bench_open(&bench, "tcp://127.0.0.1:*");
    bench.answers = true;
    send_burst(&bench);
    run(&bench);
    unsigned answer;
    for (unsigned i = 0; i < BURST; i++) {
        cr_assert_eq(zmq_recv(bench.sender, &answer, sizeof answer, 0), (int)sizeof answer);
        cr_assert_eq(answer, i);
    }
    bench_close(&bench);
}

static void *send_slowly(void *argument)
{
    send_burst(argument);
    return NULL;
}

Test(zmq_loop, messages_that_come_while_it_sleeps_wake_it)
{
    struct bench bench;
    bench_open(&bench, "tcp://127.0.0.1:*");
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, send_slowly, &bench), 0);
    run(&bench);
    pthread_join(thread, NULL);
    bench_close(&bench);
}

static void count_closed(struct zmq_loop *self)
{
    ++*(unsigned *)self->context;
}

Test(zmq_loop, says_when_it_is_closed)
{
    struct bench bench;
    bench_open(&bench, "inproc://close");
    unsigned closed = 0;
    bench.events.context = &closed;
    zmq_loop_close(&bench.events, count_closed);
    cr_assert_eq(closed, 0);
    uv_run(&bench.loop, UV_RUN_NOWAIT);
    cr_assert_eq(closed, 1);
    uv_close((uv_handle_t *)&bench.give_up, NULL);
    uv_run(&bench.loop, UV_RUN_DEFAULT);
    cr_assert_eq(uv_loop_close(&bench.loop), 0);
    zmq_close(bench.receiver);
    zmq_close(bench.sender);
    zmq_ctx_term(bench.context);
}
