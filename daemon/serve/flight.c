#include "serve/flight.h"

#include <stdlib.h>

#define PEER_SHARE 8 /* a peer may have this part of the bytes that are still free */

/* One frame under way. */
struct passage {
    struct flight *flight;
    size_t weight;
    flight_release *release;
    void *object;
};

struct flight *flight_new(struct flights *all)
{
    struct flight *flight = calloc(1, sizeof *flight);
    if (!flight)
        return NULL;
    atomic_init(&flight->references, 1);
    flight->all = all;
    return flight;
}

void flight_unref(struct flight *flight)
{
    if (flight && atomic_fetch_sub(&flight->references, 1) == 1)
        free(flight);
}

bool flight_fits(const struct flight *flight, size_t bytes, size_t most)
{
    size_t all = atomic_load(&flight->all->bytes), its = atomic_load(&flight->bytes);
    size_t left = all < most ? most - all : 0;
    if (its == 0)
        return all == 0 || bytes <= left;
    return bytes <= left && its + bytes <= left / PEER_SHARE;
}

/* ZeroMQ is done with the frame. Runs on an I/O thread, or where an unsent message is closed. */
static void land(void *data, void *hint)
{
    (void)data;
    struct passage *passage = hint;
    struct flights *all = passage->flight->all;
    passage->release(passage->object);
    atomic_fetch_sub(&passage->flight->bytes, passage->weight);
    atomic_fetch_sub(&all->bytes, passage->weight);
    flight_unref(passage->flight);
    free(passage);
    if (atomic_exchange(&all->awaited, false))
        uv_async_send(all->wake);
}

bool flight_message(zmq_msg_t *message, struct flight *flight, const void *data, size_t bytes,
                    size_t weight, flight_release *release, void *object)
{
    struct passage *passage = malloc(sizeof *passage);
    if (!passage)
        return false;
    *passage = (struct passage){ flight, weight, release, object };
    /* ZeroMQ only reads the bytes of a message that is sent; its type does not say so. */
    if (zmq_msg_init_data(message, (void *)(size_t)data, bytes, land, passage) != 0) {
        free(passage);
        return false;
    }
    atomic_fetch_add(&flight->references, 1);
    atomic_fetch_add(&flight->bytes, weight);
    atomic_fetch_add(&flight->all->bytes, weight);
    return true;
}
