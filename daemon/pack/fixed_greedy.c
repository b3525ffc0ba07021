/*
 * `fixed-greedy`, the paper's Fixed-4D: the pieces that `plain` would cut, `window` global batches
 * at a time, longest first, each into the micro-batch of least attention work that has room in S.
 * Micro-batches alike in work then share a step. What fits nowhere waits for the next window.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "pack/grouping.h"
#include "pack/longest_first.h"
#include "pack/pieces.h"
#include "pack/policies.h"

/* Places of a waiting piece; a prepared micro-batch b of the window is place b + FIRST_BIN. */
enum { CARRIED, CUT_REST, FIRST_BIN };

struct bin {
    uint64_t work;  /* attention */
    uint32_t index; /* keeps the order among bins of equal work */
    uint32_t tokens;
};

struct fixed_greedy {
    struct pack_shape shape;
    uint32_t window;       /* global batches packed together */
    uint64_t most_carried; /* tokens; above it a window takes nothing new */
    uint64_t most_delay;   /* steps; after it a piece goes first */

    struct pieces pool; /* carried over from the last window, then this window's */
    struct pieces rest; /* at most one: what the window's last cut left over */
    uint64_t intake;    /* tokens taken for this window */
    uint32_t room;      /* tokens to the next window edge of `plain` */

    struct pieces ready; /* packed and not yet served: piece i belongs to bin groups[i] */
    uint32_t *groups;
    size_t group_capacity;
    uint32_t ready_bins, served_bins; /* bins packed, bins already served */

    struct bin *bins; /* scratch, window x N */
    uint32_t *ranks;  /* scratch: bin -> its place by work */
    struct longest_first sort;
};

static void greedy_close(void *state)
{
    struct fixed_greedy *greedy = state;
    if (!greedy)
        return;
    pieces_fini(&greedy->pool);
    pieces_fini(&greedy->rest);
    pieces_fini(&greedy->ready);
    free(greedy->groups);
    free(greedy->bins);
    free(greedy->ranks);
    longest_first_fini(&greedy->sort);
    free(greedy);
}

static int greedy_open(const struct pack_shape *shape, const struct pack_options *options,
                       void **ret_state, struct error *err)
{
    if (options->window == 0 || options->window > 65536)
        return error_set(err, EX_CONFIG,
                         "packing.window: found %u, expected 1 to 65536 global batches",
                         options->window);
    struct fixed_greedy *greedy = calloc(1, sizeof *greedy);
    if (!greedy)
        return error_memory(err, "opening the packer");
    size_t bins = (size_t)options->window * shape->microbatches;
    greedy->shape = *shape;
    greedy->window = options->window;
    greedy->room = shape->window;
    greedy->most_carried =
        (uint64_t)options->max_waiting_steps * shape->microbatches * shape->window;
    greedy->most_delay = (uint64_t)options->max_waiting_steps * options->window;
    greedy->bins = calloc(bins, sizeof *greedy->bins);
    greedy->ranks = calloc(bins, sizeof *greedy->ranks);
    if (!greedy->bins || !greedy->ranks) {
        greedy_close(greedy);
        return error_memory(err, "opening the packer");
    }
    *ret_state = greedy;
    return 0;
}

static uint64_t carried_tokens(const struct fixed_greedy *greedy)
{
    return greedy->pool.tokens - greedy->intake;
}

static bool greedy_wants(const void *state)
{
    const struct fixed_greedy *greedy = state;
    uint64_t window_tokens =
        (uint64_t)greedy->window * greedy->shape.microbatches * greedy->shape.window;
    return greedy->served_bins == greedy->ready_bins &&
           greedy->intake + greedy->rest.tokens < window_tokens &&
           carried_tokens(greedy) <= greedy->most_carried;
}

/* Adds a piece to the pool, cut where a window of `plain` ends; the window's surplus is the rest.
 */
static int add_cut(struct fixed_greedy *greedy, struct piece piece, struct error *err)
{
    uint64_t window_tokens =
        (uint64_t)greedy->window * greedy->shape.microbatches * greedy->shape.window;
    while (piece.length > 0 && greedy->intake < window_tokens) {
        struct piece part = piece;
        if (part.length > greedy->room)
            piece = piece_cut(&part, greedy->room);
        else
            piece.length = 0;
        int status = pieces_push(&greedy->pool, &part, err);
        if (status)
            return status;
        greedy->intake += part.length;
        greedy->room -= part.length;
        if (greedy->room == 0)
            greedy->room = greedy->shape.window;
    }
    return piece.length > 0 ? pieces_push(&greedy->rest, &piece, err) : 0;
}

/* The surplus of the last window comes first in this one. */
static int take_rest(struct fixed_greedy *greedy, struct error *err)
{
    if (greedy->rest.count == 0)
        return 0;
    struct piece rest = *pieces_first(&greedy->rest);
    pieces_clear(&greedy->rest);
    return add_cut(greedy, rest, err);
}

static int greedy_offer(void *state, const struct piece *piece, struct error *err)
{
    struct fixed_greedy *greedy = state;
    int status = take_rest(greedy, err);
    return status ? status : add_cut(greedy, *piece, err);
}

static uint32_t lightest_with_room(const struct fixed_greedy *greedy, uint32_t bins,
                                   uint32_t length)
{
    uint32_t best = GROUP_NONE;
    for (uint32_t b = 0; b < bins; b++)
        if (greedy->bins[b].tokens + length <= greedy->shape.window &&
            (best == GROUP_NONE || greedy->bins[b].work < greedy->bins[best].work))
            best = b;
    return best;
}

static int lighter_first(const void *left, const void *right)
{
    const struct bin *a = left, *b = right;
    if (a->work != b->work)
        return a->work < b->work ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* Renames the bins in order of work, so that N neighbours make a step. */
static void rank_by_work(struct fixed_greedy *greedy, uint32_t bins)
{
    qsort(greedy->bins, bins, sizeof *greedy->bins, lighter_first);
    for (uint32_t place = 0; place < bins; place++)
        greedy->ranks[greedy->bins[place].index] = place;
    for (size_t i = 0; i < greedy->ready.count; i++)
        greedy->groups[i] = greedy->ranks[greedy->groups[i]];
}

/* Pieces that have waited this long go first, or short ones could wait for ever. */
static bool overdue(const struct fixed_greedy *greedy, const struct piece *piece, uint64_t now)
{
    return now - piece->arrived >= greedy->most_delay;
}

static uint64_t latest_arrival(const struct pieces *pieces)
{
    uint64_t latest = 0;
    for (size_t i = 0; i < pieces->count; i++)
        if (pieces_first(pieces)[i].arrived > latest)
            latest = pieces_first(pieces)[i].arrived;
    return latest;
}

static uint32_t place(struct fixed_greedy *greedy, uint32_t bins, uint32_t length)
{
    uint32_t b = lightest_with_room(greedy, bins, length);
    if (b != GROUP_NONE) {
        greedy->bins[b].tokens += length;
        greedy->bins[b].work += (uint64_t)length * length;
    }
    return b;
}

/* Gives every piece of the sorted pool a bin, or none. */
static void fill_bins(struct fixed_greedy *greedy, uint32_t bins)
{
    const struct piece *items = pieces_first(&greedy->pool);
    size_t count = greedy->pool.count;
    uint64_t now = latest_arrival(&greedy->pool);
    for (uint32_t b = 0; b < bins; b++)
        greedy->bins[b] = (struct bin){ .index = b };
    for (size_t i = 0; i < count; i++)
        if (overdue(greedy, &items[i], now))
            greedy->groups[i] = place(greedy, bins, items[i].length);
    for (size_t i = 0; i < count; i++)
        if (!overdue(greedy, &items[i], now))
            greedy->groups[i] = place(greedy, bins, items[i].length);
}

/* Moves what has a bin from the pool to `ready`. */
static int take_placed(struct fixed_greedy *greedy, struct error *err)
{
    struct piece *items = pieces_first(&greedy->pool);
    size_t kept = 0;
    pieces_clear(&greedy->ready);
    for (size_t i = 0; i < greedy->pool.count; i++) {
        if (greedy->groups[i] == GROUP_NONE) {
            items[kept++] = items[i];
            continue;
        }
        greedy->groups[greedy->ready.count] = greedy->groups[i];
        int status = pieces_push(&greedy->ready, &items[i], err);
        if (status)
            return status;
    }
    greedy->pool.count = kept;
    greedy->pool.tokens -= greedy->ready.tokens;
    return 0;
}

static uint32_t bins_wanted(const struct fixed_greedy *greedy, bool draining)
{
    uint32_t n = greedy->shape.microbatches;
    uint64_t step = (uint64_t)n * greedy->shape.window;
    uint64_t steps = (greedy->pool.tokens + step - 1) / step;
    if (!draining || steps > greedy->window)
        steps = greedy->window;
    return (uint32_t)(steps ? steps : 1) * n;
}

static int pack_window(struct fixed_greedy *greedy, bool draining, struct error *err)
{
    int status = take_rest(greedy, err);
    if (status)
        return status;
    uint32_t bins = bins_wanted(greedy, draining);
    size_t count = greedy->pool.count;
    if (!grow(greedy->groups, &greedy->group_capacity, count))
        return error_memory(err, "packing");
    status = longest_first_sort(&greedy->sort, pieces_first(&greedy->pool), count, err);
    if (status)
        return status;
    fill_bins(greedy, bins);
    status = take_placed(greedy, err);
    if (status)
        return status;
    rank_by_work(greedy, bins);
    greedy->ready_bins = bins;
    greedy->served_bins = 0;
    greedy->intake = 0;
    greedy->room = greedy->shape.window;
    return 0;
}

static int greedy_pack(void *state, bool draining, struct packing *ret_packing, struct error *err)
{
    struct fixed_greedy *greedy = state;
    if (greedy->served_bins == greedy->ready_bins) {
        int status = pack_window(greedy, draining, err);
        if (status)
            return status;
    }
    /* The step's bins come first after subtraction; served ones wrap to numbers no step has. */
    uint32_t *groups = greedy->groups;
    for (size_t i = 0; i < greedy->ready.count; i++)
        groups[i] -= greedy->served_bins;
    int status = group_pieces(&greedy->shape, pieces_first(&greedy->ready), groups,
                              greedy->ready.count, ret_packing, err);
    for (size_t i = 0; i < greedy->ready.count; i++)
        groups[i] += greedy->served_bins;
    if (status == 0)
        greedy->served_bins += greedy->shape.microbatches;
    return status;
}

struct listing {
    struct waiting_piece *pieces;
    size_t count, capacity;
};

static void list_one(struct listing *listing, const struct piece *piece, uint32_t place)
{
    if (listing->count < listing->capacity)
        listing->pieces[listing->count] = (struct waiting_piece){ .piece = *piece, .place = place };
    listing->count++;
}

static size_t greedy_waiting(const void *state, struct waiting_piece *pieces, size_t capacity)
{
    const struct fixed_greedy *greedy = state;
    struct listing listing = { .pieces = pieces, .capacity = capacity };
    for (size_t i = 0; i < greedy->pool.count; i++)
        list_one(&listing, &pieces_first(&greedy->pool)[i], CARRIED);
    for (size_t i = 0; i < greedy->rest.count; i++)
        list_one(&listing, &pieces_first(&greedy->rest)[i], CUT_REST);
    for (size_t i = 0; i < greedy->ready.count; i++)
        if (greedy->groups[i] >= greedy->served_bins)
            list_one(&listing, &pieces_first(&greedy->ready)[i],
                     FIRST_BIN + greedy->groups[i] - greedy->served_bins);
    return listing.count;
}

static void clear(struct fixed_greedy *greedy)
{
    pieces_clear(&greedy->pool);
    pieces_clear(&greedy->rest);
    pieces_clear(&greedy->ready);
    greedy->intake = 0;
    greedy->room = greedy->shape.window;
    greedy->ready_bins = greedy->served_bins = 0;
}

static int restore_one(struct fixed_greedy *greedy, const struct waiting_piece *waiting,
                       struct error *err)
{
    if (waiting->place == CARRIED)
        return pieces_push(&greedy->pool, &waiting->piece, err);
    if (waiting->place == CUT_REST)
        return pieces_push(&greedy->rest, &waiting->piece, err);

    uint32_t bin = waiting->place - FIRST_BIN, n = greedy->shape.microbatches;
    if (bin >= greedy->window * n)
        return error_set(err, EX_DATAERR,
                         "packer state: a piece waits in micro-batch %u of a window of %u: the "
                         "state belongs to another configuration",
                         bin, greedy->window * n);
    if (!grow(greedy->groups, &greedy->group_capacity, greedy->ready.count + 1))
        return error_memory(err, "packing");
    greedy->groups[greedy->ready.count] = bin;
    if (bin >= greedy->ready_bins)
        greedy->ready_bins = (bin / n + 1) * n; /* the heaviest bin of a step is never empty */
    return pieces_push(&greedy->ready, &waiting->piece, err);
}

static int greedy_restore(void *state, const struct waiting_piece *pieces, size_t count,
                          struct error *err)
{
    struct fixed_greedy *greedy = state;
    clear(greedy);
    for (size_t i = 0; i < count; i++) {
        int status = restore_one(greedy, &pieces[i], err);
        if (status)
            return status;
    }
    return 0;
}

static void greedy_place_name(const void *state, uint32_t place, char *text, size_t bytes)
{
    const struct fixed_greedy *greedy = state;
    if (place == CARRIED)
        snprintf(text, bytes, "fits no micro-batch");
    else if (place == CUT_REST)
        snprintf(text, bytes, "cut at the end of the window");
    else
        snprintf(text, bytes, "packed, %u steps ahead",
                 (place - FIRST_BIN) / greedy->shape.microbatches + 1);
}

const struct pack_policy pack_fixed_greedy = {
    .name = "fixed-greedy",
    .open = greedy_open,
    .close = greedy_close,
    .wants = greedy_wants,
    .offer = greedy_offer,
    .pack = greedy_pack,
    .waiting = greedy_waiting,
    .restore = greedy_restore,
    .place_name = greedy_place_name,
};
