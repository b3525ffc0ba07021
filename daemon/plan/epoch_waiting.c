/* What waits in an epoch, in packer and backlog, and the state that is made of it. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "plan/epoch_state.h"

static size_t count_waiting(const struct epoch *epoch)
{
    return epoch->policy->waiting(epoch->packer, NULL, 0) + epoch->backlog.count;
}

/* What the packer holds back, then the backlog: `count` of them, as count_waiting says. */
static void copy_waiting(const struct epoch *epoch, struct waiting_piece *waiting, size_t count)
{
    size_t held = epoch->policy->waiting(epoch->packer, waiting, count - epoch->backlog.count);
    for (size_t i = held; i < count; i++)
        waiting[i] = (struct waiting_piece){ .piece = pieces_first(&epoch->backlog)[i - held],
                                             .place = PLANNER_BACKLOG };
}

int epoch_list_waiting(struct epoch *epoch, size_t *ret_count, struct error *err)
{
    size_t count = count_waiting(epoch);
    if (!grow(epoch->waiting, &epoch->waiting_capacity, count))
        return error_memory(err, "planning");
    copy_waiting(epoch, epoch->waiting, count);
    *ret_count = count;
    return 0;
}

int epoch_sum_waiting(struct epoch *epoch, struct plan_waiting *ret_waiting, struct error *err)
{
    size_t count = 0;
    int status = epoch_list_waiting(epoch, &count, err);
    if (status)
        return status;
    struct plan_waiting sum = { .pieces = count, .oldest = epoch->next_step + 1 };
    for (size_t i = 0; i < count; i++) {
        const struct piece *piece = &epoch->waiting[i].piece;
        sum.tokens += piece->length;
        if (piece->arrived < sum.oldest)
            sum.oldest = piece->arrived;
    }
    *ret_waiting = sum;
    return 0;
}

int epoch_put_waiting(struct epoch *epoch, const struct waiting_piece *waiting, size_t count,
                      struct error *err)
{
    size_t held = 0;
    while (held < count && waiting[held].place != PLANNER_BACKLOG)
        held++;
    int status = epoch->policy->restore(epoch->packer, waiting, held, err);
    pieces_clear(&epoch->backlog);
    for (size_t i = held; i < count && !status; i++)
        status = pieces_push(&epoch->backlog, &waiting[i].piece, err);
    return status;
}

/* ---- states ---- */

int epoch_save(const struct epoch *epoch, struct planner_state *state, struct error *err)
{
    size_t cursors = epoch->config->source_count;
    size_t waiting = count_waiting(epoch);
    if (!grow(state->cursors, &state->cursor_capacity, cursors) ||
        !grow(state->waiting, &state->waiting_capacity, waiting))
        return error_memory(err, "saving the planner's state");
    memcpy(state->cursors, stream_cursors(epoch->stream), cursors * sizeof *state->cursors);
    state->cursor_count = cursors;
    copy_waiting(epoch, state->waiting, waiting);
    state->waiting_count = waiting;
    state->next_step = epoch->next_step;
    state->digest = epoch->digest;
    state->ended = epoch->ended;
    state->finished = epoch->finished;
    state->dropped_pieces = epoch->dropped_pieces;
    state->dropped_tokens = epoch->dropped_tokens;
    return 0;
}

int epoch_restore(struct epoch *epoch, const struct planner_state *state, struct error *err)
{
    if (state->cursor_count != epoch->config->source_count)
        return error_set(err, EX_DATAERR,
                         "planner state: holds %zu sources, the configuration %u: the state "
                         "belongs to another configuration",
                         state->cursor_count, epoch->config->source_count);
    int status = epoch_put_waiting(epoch, state->waiting, state->waiting_count, err);
    if (status)
        return status;
    stream_seek(epoch->stream, state->cursors);
    if (epoch->foresight.scout)
        foresight_seek(&epoch->foresight, state->cursors);
    epoch->next_step = state->next_step;
    epoch->digest = state->digest;
    epoch->ended = state->ended;
    epoch->finished = state->finished;
    epoch->dropped_pieces = state->dropped_pieces;
    epoch->dropped_tokens = state->dropped_tokens;
    return 0;
}

/* ---- from the epoch before ---- */

/* Where in the backlog a piece comes, and which it was before. */
struct seat {
    uint64_t arrived;
    size_t index;
};

static int compare_seats(const void *one, const void *other)
{
    const struct seat *a = one, *b = other;
    if (a->arrived != b->arrived)
        return a->arrived < b->arrived ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* Adds a piece to the backlog, cut to the window: former windows may have been longer. */
static int queue_piece(struct epoch *epoch, struct piece piece, struct error *err)
{
    int status = 0;
    while (piece.length > epoch->shape.window && !status) {
        struct piece rest = piece_cut(&piece, epoch->shape.window);
        status = pieces_push(&epoch->backlog, &piece, err);
        piece = rest;
    }
    return status ? status : pieces_push(&epoch->backlog, &piece, err);
}

static int queue_waiting(struct epoch *epoch, const struct planner_state *state, struct error *err)
{
    size_t count = state->waiting_count;
    struct seat *seats = calloc(count + 1, sizeof *seats);
    if (!seats)
        return error_memory(err, "taking over what waits");
    for (size_t i = 0; i < count; i++)
        seats[i] = (struct seat){ state->waiting[i].piece.arrived, i };
    qsort(seats, count, sizeof *seats, compare_seats);
    int status = 0;
    for (size_t i = 0; i < count && !status; i++)
        status = queue_piece(epoch, state->waiting[seats[i].index].piece, err);
    free(seats);
    return status;
}

static bool same_weights(const struct config *a, const struct config *b)
{
    for (unsigned i = 0; i < a->source_count; i++)
        if (source_integer_weight(a->sources[i].weight) !=
            source_integer_weight(b->sources[i].weight))
            return false;
    return true;
}

int epoch_take_over(struct epoch *epoch, struct planner_state *state, const struct config *former,
                    struct error *err)
{
    size_t waiting = state->waiting_count;
    if (!same_weights(former, epoch->config))
        for (size_t i = 0; i < state->cursor_count; i++)
            state->cursors[i].blended = 0;
    state->waiting_count = 0;
    int status = epoch_restore(epoch, state, err);
    state->waiting_count = waiting;
    return status ? status : queue_waiting(epoch, state, err);
}
