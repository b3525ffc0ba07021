/*
 * The promise of `max_delay`: no piece is served later than max_delay steps after it arrived.
 *
 * A step can always place a certain amount of tokens, longest first, whatever their lengths: when a
 * piece finds no room, every micro-batch is more than half full. So much is safe a step; the rest
 * is arithmetic: what is due within j steps must never exceed j + 1 safe amounts. Pieces go in time
 * to keep that true, and intake pauses before it could become false. Pure.
 */
#ifndef BALLAST_PACK_PROMISE_H
#define BALLAST_PACK_PROMISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pack/pack.h"

#define PROMISE_MOST_DELAY 1024

struct promise {
    uint32_t max_delay;                   /* 1 .. PROMISE_MOST_DELAY */
    uint64_t safe_tokens;                 /* that a step can always place */
    uint64_t most_waiting;                /* tokens that waited or may wait, and */
    uint64_t most_held;                   /* tokens in all; above either intake pauses */
    uint64_t most_left;                   /* tokens that a step may leave, whichever they are */
    uint64_t due[PROMISE_MOST_DELAY + 1]; /* tokens by steps left; working memory */
    uint64_t needed;                      /* tokens that must still go in this step */
    uint32_t last;                        /* pieces with fewer steps left than this must all go */
};

/* Pieces of up to `small_tokens` find room until every micro-batch is full but for as many. */
void promise_init(struct promise *promise, const struct pack_shape *shape, uint32_t max_delay,
                  uint32_t small_tokens);

/* Call in this order, every step: begin, add every list of waiting pieces, settle, then ask. */
void promise_begin(struct promise *promise);
void promise_add(struct promise *promise, const struct piece *pieces, size_t count, uint64_t step);
void promise_settle(struct promise *promise);

/* Must this piece go now? Ask once for each piece added. */
bool promise_must_go(struct promise *promise, const struct piece *piece, uint64_t step);

#endif
