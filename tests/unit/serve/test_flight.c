/* Memory under way: counted while a message holds it, released once, and the waiting are woken. */
#include <criterion/criterion.h>
#include <string.h>

#include "serve/flight.h"

static atomic_uint released;
static unsigned woken;

static void release(void *object)
{
    (void)object;
    atomic_fetch_add(&released, 1);
}

static void on_wake(uv_async_t *handle)
{
    woken++;
    uv_close((uv_handle_t *)handle, NULL);
}

Test(flight, counts_until_the_message_is_closed)
{
    struct flights flights = { 0 };
    struct flight *flight = flight_new(&flights);
    char data[100] = { 0 };
    zmq_msg_t message;
    cr_assert(flight_message(&message, flight, data, sizeof data, 300, release, data));
    cr_assert_eq(zmq_msg_data(&message), data, "nothing is copied");
    cr_assert_eq(atomic_load(&flights.bytes), 300);
    cr_assert_eq(atomic_load(&flight->bytes), 300);
    flight_unref(flight); /* the session may go before its messages */
    cr_assert_eq(atomic_load(&released), 0);
    zmq_msg_close(&message);
    cr_assert_eq(atomic_load(&released), 1);
    cr_assert_eq(atomic_load(&flights.bytes), 0);
}

#define PEERS 16
#define MOST 100000u
#define FRAME 100u

/* One after the other takes all it may and reads nothing: there is room for the next all the same.
 */
Test(flight, deaf_peers_leave_room_for_others)
{
    struct flights flights = { 0 };
    struct flight *peers[PEERS];
    static zmq_msg_t messages[MOST / FRAME];
    size_t sent = 0;
    char data[1] = { 0 };
    for (int i = 0; i < PEERS; i++) {
        size_t before = i ? atomic_load(&peers[i - 1]->bytes) : MOST;
        peers[i] = flight_new(&flights);
        while (flight_fits(peers[i], FRAME, MOST))
            cr_assert(flight_message(&messages[sent++], peers[i], data, 1, FRAME, release, data));
        cr_assert_geq(atomic_load(&peers[i]->bytes), FRAME);
        cr_assert_leq(atomic_load(&peers[i]->bytes), before);
    }
    cr_assert_leq(atomic_load(&flights.bytes), MOST - MOST / 16);
    while (sent)
        zmq_msg_close(&messages[--sent]);
    for (int i = 0; i < PEERS; i++)
        flight_unref(peers[i]);
}

Test(flight, what_is_larger_than_all_goes_alone)
{
    struct flights flights = { 0 };
    struct flight *one = flight_new(&flights), *other = flight_new(&flights);
    zmq_msg_t message;
    char data[1] = { 0 };
    cr_assert(flight_fits(one, 2 * MOST, MOST));
    cr_assert(flight_message(&message, one, data, 1, 2 * MOST, release, data));
    cr_assert_not(flight_fits(one, 1, MOST));
    cr_assert_not(flight_fits(other, 1, MOST));
    zmq_msg_close(&message);
    cr_assert(flight_fits(other, 2 * MOST, MOST));
    flight_unref(one);
    flight_unref(other);
}

Test(flight, wakes_those_who_wait_for_a_landing_once)
{
    uv_loop_t loop;
    uv_async_t wake;
    uv_loop_init(&loop);
    uv_async_init(&loop, &wake, on_wake);
    struct flights flights = { .wake = &wake };
    struct flight *flight = flight_new(&flights);
    zmq_msg_t messages[2];
    char data[10] = { 0 };
    for (int i = 0; i < 2; i++)
        flight_message(&messages[i], flight, data, sizeof data, sizeof data, release, data);
    zmq_msg_close(&messages[0]);
    cr_assert_eq(uv_run(&loop, UV_RUN_NOWAIT), 1);
    cr_assert_eq(woken, 0, "nobody waits");
    atomic_store(&flights.awaited, true);
    zmq_msg_close(&messages[1]);
    uv_run(&loop, UV_RUN_DEFAULT);
    cr_assert_eq(woken, 1);
    cr_assert_not(atomic_load(&flights.awaited));
    flight_unref(flight);
    uv_loop_close(&loop);
}

Test(flight, a_message_that_was_sent_lands_too)
{
    struct flights flights = { 0 };
    struct flight *flight = flight_new(&flights);
    void *context = zmq_ctx_new();
    void *from = zmq_socket(context, ZMQ_PAIR), *to = zmq_socket(context, ZMQ_PAIR);
    char address[256], data[1000], got[1000];
    size_t bytes = sizeof address;
    memset(data, 7, sizeof data);
    cr_assert_eq(zmq_bind(from, "tcp://127.0.0.1:*"), 0);
    zmq_getsockopt(from, ZMQ_LAST_ENDPOINT, address, &bytes);
    cr_assert_eq(zmq_connect(to, address), 0);
    zmq_msg_t message;
    flight_message(&message, flight, data, sizeof data, sizeof data, release, data);
    cr_assert_geq(zmq_msg_send(&message, from, 0), 0);
    cr_assert_eq(zmq_recv(to, got, sizeof got, 0), (int)sizeof got);
    cr_assert_arr_eq(got, data, sizeof data);
    zmq_close(from);
    zmq_close(to);
    zmq_ctx_term(context);
    cr_assert_eq(atomic_load(&released), 1);
    cr_assert_eq(atomic_load(&flights.bytes), 0);
    flight_unref(flight);
}
