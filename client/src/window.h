/*
 * The requests ahead of ballast_next: consecutive (step, slot) from the head on, in a ring. The
 * head is what ballast_next delivers; at the other end new requests join as long as there is room
 * and data.
 */
#ifndef BALLAST_CLIENT_WINDOW_H
#define BALLAST_CLIENT_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "request.h"

struct place {
    uint64_t step;
    uint32_t slot;
};

struct window {
    struct request ring[OPTIONS_MAX_PREFETCH];
    uint32_t first, count;   /* ring[first], and how many follow */
    struct place head, tail; /* what ballast_next delivers, what the next request will ask for */
};

/* Forgets every request and begins at slot 0 of `step`. */
void window_seek(struct window *window, uint64_t step);

/* Request `index` from the head on; index < count. */
struct request *window_at(struct window *window, uint32_t index);

/*
 * Room for one more request at the tail, before step `end`, with `limit` in all. Returns a FREE
 * request and the place it is to ask for, or NULL.
 */
struct request *window_extend(struct window *window, uint32_t limit, uint64_t end,
                              uint32_t microbatches, struct place *ret_place);

/* How many requests from the head on are READY: what ballast_next delivers without another word. */
uint32_t window_run(struct window *window);

/* The head is delivered: frees it and moves on. */
void window_advance(struct window *window, uint32_t microbatches);

/* There is no step `end`: forgets the requests for it and for later steps, which may join again. */
void window_truncate(struct window *window, uint64_t end);

#endif
