#include "frames.h"

#include <errno.h>

/* Receives one part into `part`; EINTR is none of our business in the middle of a message. */
static int receive_part(void *socket, zmq_msg_t *part)
{
    zmq_msg_init(part);
    while (zmq_msg_recv(part, socket, ZMQ_DONTWAIT) < 0) {
        int error = zmq_errno();
        if (error == EINTR)
            continue;
        zmq_msg_close(part);
        return error;
    }
    return 0;
}

int frames_receive(void *socket, struct frames *ret_frames)
{
    struct frames frames = { .count = 0 };
    bool more = true;
    while (more) {
        zmq_msg_t surplus;
        bool fits = frames.count < WIRE_MAX_FRAMES;
        /* cppcheck-suppress uninitvar ; receive_part initialises it */
        zmq_msg_t *part = fits ? &frames.part[frames.count] : &surplus;
        int error = receive_part(socket, part);
        if (error) {
            frames_close(&frames);
            return error;
        }
        frames.bytes += zmq_msg_size(part);
        more = zmq_msg_more(part);
        if (fits) {
            frames.count++;
            continue;
        }
        frames.excess = true;
        zmq_msg_close(part);
    }
    frames_move(ret_frames, &frames);
    return 0;
}

void frames_close(struct frames *frames)
{
    for (unsigned i = 0; i < frames->count; i++)
        zmq_msg_close(&frames->part[i]);
    frames->count = 0;
    frames->bytes = 0;
}

void frames_move(struct frames *to, struct frames *from)
{
    *to = (struct frames){ .count = from->count, .excess = from->excess, .bytes = from->bytes };
    for (unsigned i = 0; i < from->count; i++) {
        zmq_msg_init(&to->part[i]);
        zmq_msg_move(&to->part[i], &from->part[i]);
        zmq_msg_close(&from->part[i]);
    }
    from->count = 0;
    from->bytes = 0;
}
