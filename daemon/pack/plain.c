/*
 * `plain`, the paper's Plain-4D: pieces in arrival order, concatenated and cut into windows of
 * exactly S tokens. What the last cut of a step leaves over begins the next step.
 */
#include "pack/policies.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "pack/grouping.h"
#include "pack/pieces.h"

struct plain {
    struct pack_shape shape;
    struct pieces held; /* in arrival order */
    struct pieces cut;  /* scratch: this step's, cut at window edges */
    uint32_t *groups;   /* scratch: window of each cut piece */
    size_t group_capacity;
};

static uint64_t step_tokens(const struct pack_shape *shape)
{
    return (uint64_t)shape->microbatches * shape->window;
}

static int plain_open(const struct pack_shape *shape, const struct pack_options *options,
                      void **ret_state, struct error *err)
{
    (void)options;
    struct plain *plain = calloc(1, sizeof *plain);
    if (!plain)
        return error_memory(err, "opening the packer");
    plain->shape = *shape;
    *ret_state = plain;
    return 0;
}

static void plain_close(void *state)
{
    struct plain *plain = state;
    if (!plain)
        return;
    pieces_fini(&plain->held);
    pieces_fini(&plain->cut);
    free(plain->groups);
    free(plain);
}

static bool plain_wants(const void *state)
{
    const struct plain *plain = state;
    return plain->held.tokens < step_tokens(&plain->shape);
}

static int plain_offer(void *state, const struct piece *piece, struct error *err)
{
    struct plain *plain = state;
    return pieces_push(&plain->held, piece, err);
}

/* Moves the first of the held pieces to `cut`, or as much of it as `room` tokens hold. */
static int take(struct plain *plain, uint32_t window, uint32_t room, struct error *err)
{
    if (!grow(plain->groups, &plain->group_capacity, plain->cut.count + 1))
        return error_memory(err, "packing");
    struct piece *first = pieces_first(&plain->held), part = *first, rest = { 0 };
    if (part.length > room)
        rest = piece_cut(&part, room);
    int status = pieces_push(&plain->cut, &part, err);
    if (status)
        return status;
    plain->groups[plain->cut.count - 1] = window;
    if (rest.length == 0) {
        pieces_drop_first(&plain->held, 1);
    } else {
        *first = rest;
        plain->held.tokens -= part.length;
    }
    return 0;
}

static int plain_pack(void *state, bool draining, struct packing *ret_packing, struct error *err)
{
    (void)draining; /* the last windows are simply short */
    struct plain *plain = state;
    pieces_clear(&plain->cut);
    for (uint32_t window = 0; window < plain->shape.microbatches; window++) {
        uint32_t room = plain->shape.window;
        while (room > 0 && plain->held.count > 0) {
            int status = take(plain, window, room, err);
            if (status)
                return status;
            room -= pieces_first(&plain->cut)[plain->cut.count - 1].length;
        }
    }
    return group_pieces(&plain->shape, pieces_first(&plain->cut), plain->groups, plain->cut.count,
                        ret_packing, err);
}

static size_t plain_waiting(const void *state, struct waiting_piece *pieces, size_t capacity)
{
    const struct plain *plain = state;
    for (size_t i = 0; i < plain->held.count && i < capacity; i++)
        pieces[i] = (struct waiting_piece){ .piece = pieces_first(&plain->held)[i] };
    return plain->held.count;
}

static int plain_restore(void *state, const struct waiting_piece *pieces, size_t count,
                         struct error *err)
{
    struct plain *plain = state;
    pieces_clear(&plain->held);
    for (size_t i = 0; i < count; i++) {
        int status = pieces_push(&plain->held, &pieces[i].piece, err);
        if (status)
            return status;
    }
    return 0;
}

static void plain_place_name(const void *state, uint32_t place, char *text, size_t bytes)
{
    (void)state;
    (void)place;
    snprintf(text, bytes, "cut at the end of the step");
}

const struct pack_policy pack_plain = {
    .name = "plain",
    .open = plain_open,
    .close = plain_close,
    .wants = plain_wants,
    .offer = plain_offer,
    .pack = plain_pack,
    .waiting = plain_waiting,
    .restore = plain_restore,
    .place_name = plain_place_name,
};
