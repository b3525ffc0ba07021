/* One message as it came: a header frame and up to three raw frames, still in ZeroMQ's memory. */
#ifndef BALLAST_CLIENT_FRAMES_H
#define BALLAST_CLIENT_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <zmq.h>

#include "wire/limits.h"

struct frames {
    zmq_msg_t part[WIRE_MAX_FRAMES];
    unsigned count; /* parts that are held */
    bool excess;    /* more parts came than a message may have; they were thrown away */
    size_t bytes;   /* received, over all parts */
};

/*
 * Takes one whole message off the socket without blocking. Returns 0, *ret_frames the caller's
 * until frames_close; or EAGAIN when nothing is there; or another errno of ZeroMQ.
 */
int frames_receive(void *socket, struct frames *ret_frames);

/* Gives the memory back; a zeroed struct is accepted, and left behind. */
void frames_close(struct frames *frames);

/* Moves `from`, which is left empty, to *to, which holds nothing. */
void frames_move(struct frames *to, struct frames *from);

static inline const unsigned char *frames_data(const struct frames *frames, unsigned index)
{
    return zmq_msg_data((zmq_msg_t *)&frames->part[index]);
}

static inline size_t frames_size(const struct frames *frames, unsigned index)
{
    return zmq_msg_size((zmq_msg_t *)&frames->part[index]);
}

#endif
