/*
 * `wlb`, the paper's Algorithm 1 (PAPER.md): outliers wait in queues by length until N of them are
 * there, one for each micro-batch; then longest first into the micro-batch of least workload.
 *
 * Where the paper is silent: what is left over counts towards the next step's intake, so that it
 * cannot pile up; at the end of data every queue is released at once; a piece as long as S_max goes
 * into an empty micro-batch; intake pauses while more than max_waiting_steps global batches wait,
 * which only thresholds far too low ever reach.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "pack/grouping.h"
#include "pack/least.h"
#include "pack/longest_first.h"
#include "pack/pieces.h"
#include "pack/policies.h"

#define LEFT_OVER 0u /* place of a waiting piece; queue level l is place l + 1 */

struct wlb {
    struct pack_shape shape;
    uint64_t thresholds[PACK_MAX_THRESHOLDS];
    unsigned levels;
    uint64_t most_waiting; /* tokens */

    struct pieces queues[PACK_MAX_THRESHOLDS];
    struct pieces fresh; /* "New": this step's, below the first threshold or released */
    struct pieces left;  /* left over from earlier steps, in their old order */
    uint64_t intake;     /* tokens taken since the last step */

    struct least work, tokens; /* of each micro-batch, while packing */
    uint32_t *groups;
    size_t group_capacity;
    struct longest_first sort;
};

static int check_thresholds(const struct pack_options *options, struct error *err)
{
    const uint64_t *thresholds = options->outlier_thresholds;
    if (options->outlier_threshold_count > PACK_MAX_THRESHOLDS)
        return error_set(err, EX_CONFIG,
                         "packing.outlier_thresholds: %u thresholds, at most %d are supported",
                         options->outlier_threshold_count, PACK_MAX_THRESHOLDS);
    for (unsigned i = 0; i < options->outlier_threshold_count; i++)
        if (thresholds[i] == 0 || (i > 0 && thresholds[i] <= thresholds[i - 1]))
            return error_set(err, EX_CONFIG,
                             "packing.outlier_thresholds: found %llu in place %u, expected rising "
                             "lengths in tokens, as in [32768, 81920]",
                             (unsigned long long)thresholds[i], i + 1);
    /* Full queues hold less than one global batch a level: a lower bound could block for ever. */
    bool undecided = options->auto_thresholds && options->outlier_threshold_count == 0;
    unsigned levels = undecided ? 1 : options->outlier_threshold_count;
    if (options->max_waiting_steps <= levels)
        return error_set(err, EX_CONFIG,
                         "packing.max_waiting_steps: found %u, expected more than the number of "
                         "outlier_thresholds, %u",
                         options->max_waiting_steps, levels);
    return 0;
}

static void wlb_close(void *state)
{
    struct wlb *wlb = state;
    if (!wlb)
        return;
    for (unsigned level = 0; level < PACK_MAX_THRESHOLDS; level++)
        pieces_fini(&wlb->queues[level]);
    pieces_fini(&wlb->fresh);
    pieces_fini(&wlb->left);
    least_fini(&wlb->work);
    least_fini(&wlb->tokens);
    free(wlb->groups);
    longest_first_fini(&wlb->sort);
    free(wlb);
}

static int wlb_open(const struct pack_shape *shape, const struct pack_options *options,
                    void **ret_state, struct error *err)
{
    int status = check_thresholds(options, err);
    if (status)
        return status;
    struct wlb *wlb = calloc(1, sizeof *wlb);
    if (!wlb)
        return error_memory(err, "opening the packer");
    wlb->shape = *shape;
    wlb->levels = options->outlier_threshold_count;
    for (unsigned level = 0; level < wlb->levels; level++)
        wlb->thresholds[level] = options->outlier_thresholds[level];
    wlb->most_waiting = (uint64_t)options->max_waiting_steps * shape->microbatches * shape->window;
    if (!least_init(&wlb->work, shape->microbatches) ||
        !least_init(&wlb->tokens, shape->microbatches)) {
        wlb_close(wlb);
        return error_memory(err, "opening the packer");
    }
    *ret_state = wlb;
    return 0;
}

static uint64_t waiting_tokens(const struct wlb *wlb)
{
    uint64_t tokens = wlb->left.tokens;
    for (unsigned level = 0; level < wlb->levels; level++)
        tokens += wlb->queues[level].tokens;
    return tokens;
}

static bool wlb_wants(const void *state)
{
    const struct wlb *wlb = state;
    uint64_t at_hand = wlb->left.tokens + wlb->intake;
    return at_hand < (uint64_t)wlb->shape.microbatches * wlb->shape.window &&
           waiting_tokens(wlb) <= wlb->most_waiting;
}

/* The queue for a piece of this length, or -1: it is no outlier. */
static int level_of(const struct wlb *wlb, uint32_t length)
{
    int level = -1;
    while (level + 1 < (int)wlb->levels && length >= wlb->thresholds[level + 1])
        level++;
    return level;
}

/* Algorithm 1, 1. */
static int wlb_offer(void *state, const struct piece *piece, struct error *err)
{
    struct wlb *wlb = state;
    int level = level_of(wlb, piece->length);
    int status = pieces_push(level < 0 ? &wlb->fresh : &wlb->queues[level], piece, err);
    if (status == 0)
        wlb->intake += piece->length;
    return status;
}

/* Algorithm 1, 2: every queue with at least N pieces hands out its N oldest. */
static int release_outliers(struct wlb *wlb, bool draining, struct error *err)
{
    for (unsigned level = 0; level < wlb->levels; level++) {
        struct pieces *queue = &wlb->queues[level];
        size_t count = draining                                  ? queue->count
                       : queue->count >= wlb->shape.microbatches ? wlb->shape.microbatches
                                                                 : 0;
        int status = pieces_push_all(&wlb->fresh, pieces_first(queue), count, err);
        if (status)
            return status;
        pieces_drop_first(queue, count);
    }
    return 0;
}

static bool fits(const struct wlb *wlb, uint32_t microbatch, uint32_t length)
{
    uint64_t tokens = least_key(&wlb->tokens, microbatch);
    return tokens + length < wlb->shape.max_tokens || tokens == 0;
}

/* Algorithm 1, 4: least workload if it has room, else fewest tokens if that has, else left over. */
static uint32_t place(struct wlb *wlb, uint32_t length)
{
    uint32_t microbatch = least_index(&wlb->work);
    if (!fits(wlb, microbatch, length))
        microbatch = least_index(&wlb->tokens);
    if (!fits(wlb, microbatch, length))
        return GROUP_NONE;
    least_add(&wlb->work, microbatch, cost_piece(&wlb->shape.cost, length));
    least_add(&wlb->tokens, microbatch, length);
    return microbatch;
}

/* Places every piece of `left`; what finds no room stays there, in its order. */
static int place_all(struct wlb *wlb, struct packing *packing, struct error *err)
{
    struct pieces *left = &wlb->left;
    struct piece *items = pieces_first(left);
    if (!grow(wlb->groups, &wlb->group_capacity, left->count))
        return error_memory(err, "packing");
    least_reset(&wlb->work, wlb->shape.microbatches);
    least_reset(&wlb->tokens, wlb->shape.microbatches);
    for (size_t i = 0; i < left->count; i++)
        wlb->groups[i] = place(wlb, items[i].length);
    int status = group_pieces(&wlb->shape, items, wlb->groups, left->count, packing, err);
    if (status)
        return status;

    size_t kept = 0;
    for (size_t i = 0; i < left->count; i++)
        if (wlb->groups[i] == GROUP_NONE)
            items[kept++] = items[i];
    left->count = kept;
    left->tokens -= packing->tokens;
    return 0;
}

static int wlb_pack(void *state, bool draining, struct packing *ret_packing, struct error *err)
{
    struct wlb *wlb = state;
    int status = release_outliers(wlb, draining, err);
    if (status)
        return status;
    /* Algorithm 1, 3: New alone is sorted, what was left over goes in front. */
    status = longest_first_sort(&wlb->sort, pieces_first(&wlb->fresh), wlb->fresh.count, err);
    if (status == 0)
        status = pieces_push_all(&wlb->left, pieces_first(&wlb->fresh), wlb->fresh.count, err);
    if (status)
        return status;
    pieces_clear(&wlb->fresh);
    wlb->intake = 0;
    return place_all(wlb, ret_packing, err);
}

static size_t list_waiting(const struct pieces *from, uint32_t place, size_t at,
                           struct waiting_piece *pieces, size_t capacity)
{
    for (size_t i = 0; i < from->count && at + i < capacity; i++)
        pieces[at + i] = (struct waiting_piece){ .piece = pieces_first(from)[i], .place = place };
    return at + from->count;
}

static size_t wlb_waiting(const void *state, struct waiting_piece *pieces, size_t capacity)
{
    const struct wlb *wlb = state;
    size_t count = list_waiting(&wlb->left, LEFT_OVER, 0, pieces, capacity);
    for (unsigned level = 0; level < wlb->levels; level++)
        count = list_waiting(&wlb->queues[level], level + 1, count, pieces, capacity);
    return count;
}

static int wlb_restore(void *state, const struct waiting_piece *pieces, size_t count,
                       struct error *err)
{
    struct wlb *wlb = state;
    pieces_clear(&wlb->fresh);
    pieces_clear(&wlb->left);
    for (unsigned level = 0; level < wlb->levels; level++)
        pieces_clear(&wlb->queues[level]);
    wlb->intake = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t at = pieces[i].place;
        if (at > wlb->levels)
            return error_set(err, EX_DATAERR,
                             "packer state: a piece waits in queue %u, but there are %u: the state "
                             "belongs to another configuration",
                             at, wlb->levels);
        int status =
            pieces_push(at == LEFT_OVER ? &wlb->left : &wlb->queues[at - 1], &pieces[i].piece, err);
        if (status)
            return status;
    }
    return 0;
}

static void wlb_place_name(const void *state, uint32_t place, char *text, size_t bytes)
{
    const struct wlb *wlb = state;
    if (place == LEFT_OVER || place > wlb->levels)
        snprintf(text, bytes, "left over");
    else
        snprintf(text, bytes, "queue %u (>= %llu tokens)", place,
                 (unsigned long long)wlb->thresholds[place - 1]);
}

const struct pack_policy pack_wlb = {
    .name = "wlb",
    .open = wlb_open,
    .close = wlb_close,
    .wants = wlb_wants,
    .offer = wlb_offer,
    .pack = wlb_pack,
    .waiting = wlb_waiting,
    .restore = wlb_restore,
    .place_name = wlb_place_name,
};
