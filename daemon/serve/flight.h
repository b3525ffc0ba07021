/*
 * Memory that ZeroMQ messages still refer to after they were sent: payloads and plans go out
 * without a copy, so they live until an I/O thread has written them.
 *
 * Every frame sent so is counted for its peer and in total; when either is over its bound, requests
 * wait until something has landed. Threads: flight_message on the loop's; landing on ZeroMQ's I/O
 * threads, hence the atomics. Owner: the server owns the total; a session and its messages share
 * one struct flight. Teardown: end the ZeroMQ context (which lands everything), then close `wake`.
 */
#ifndef BALLAST_SERVE_FLIGHT_H
#define BALLAST_SERVE_FLIGHT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>
#include <zmq.h>

struct flights {
    atomic_size_t bytes;
    atomic_bool awaited; /* send `wake` at the next landing, once */
    uv_async_t *wake;
};

/* What is under way to one peer. */
struct flight {
    atomic_uint references;
    atomic_size_t bytes;
    struct flights *all;
};

/* One reference, the caller's; NULL when out of memory. */
struct flight *flight_new(struct flights *all);

/* NULL is accepted. */
void flight_unref(struct flight *flight);

/*
 * May so many bytes more be under way to this peer, with `most` in all? A peer may have a share of
 * what is still free: of those that read nothing each takes less than the one before, so that a
 * dozen or two of them leave something for the others. What is larger than all goes alone.
 */
bool flight_fits(const struct flight *flight, size_t bytes, size_t most);

typedef void flight_release(void *object);

/*
 * Makes `message` of `bytes` bytes at `data`, which lie in `object`; takes over one reference to
 * the object and gives it back through `release`, on any thread, when ZeroMQ is done. `weight`
 * bytes count as under way. Close the message if it is not sent. False when out of memory: the
 * reference is still the caller's.
 */
bool flight_message(zmq_msg_t *message, struct flight *flight, const void *data, size_t bytes,
                    size_t weight, flight_release *release, void *object);

#endif
