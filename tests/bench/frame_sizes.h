/*
 * Sizes of the frames of a run's replies, per client and in order: recorded from a daemon, replayed
 * by the bare server, so that both send the same.
 */
#ifndef BALLAST_BENCH_FRAME_SIZES_H
#define BALLAST_BENCH_FRAME_SIZES_H

#include <stddef.h>
#include <stdint.h>

#define FRAMES_PER_REPLY 4

struct reply_sizes {
    uint64_t frames[FRAMES_PER_REPLY];
};

struct frame_sizes {
    uint32_t clients, replies; /* every client gets as many */
    struct reply_sizes *of;    /* clients x replies, client by client */
};

/* Zeroed room for a run; ends the program when out of memory. */
struct frame_sizes frame_sizes_new(uint32_t clients, uint32_t replies);
void frame_sizes_free(struct frame_sizes *sizes);

/* Both end the program on failure. */
void frame_sizes_write(const struct frame_sizes *sizes, const char *path);
struct frame_sizes frame_sizes_read(const char *path);

static inline struct reply_sizes *frame_sizes_at(const struct frame_sizes *sizes, uint32_t client,
                                                 uint32_t reply)
{
    return &sizes->of[(size_t)client * sizes->replies + reply];
}

#endif
