#include "pack/fixed_windows.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"

/* Places of a waiting piece; a prepared micro-batch b of the window is place b + FIRST_BIN. */
enum { CARRIED, CUT_REST, FIRST_BIN };

int fixed_windows_init(struct fixed_windows *windows, const struct pack_shape *shape,
                       const struct pack_options *options, window_assign *assign, struct error *err)
{
    if (options->window == 0 || options->window > 65536)
        return error_set(err, EX_CONFIG,
                         "packing.window: found %u, expected 1 to 65536 global batches",
                         options->window);
    size_t bins = (size_t)options->window * shape->microbatches;
    windows->shape = *shape;
    windows->assign = assign;
    windows->window = options->window;
    windows->room = shape->window;
    windows->most_carried =
        (uint64_t)options->max_waiting_steps * shape->microbatches * shape->window;
    windows->most_delay = (uint64_t)options->max_waiting_steps * options->window;
    windows->bins = calloc(bins, sizeof *windows->bins);
    windows->ranks = calloc(bins, sizeof *windows->ranks);
    return windows->bins && windows->ranks ? 0 : error_memory(err, "opening the packer");
}

void fixed_windows_fini(struct fixed_windows *windows)
{
    pieces_fini(&windows->pool);
    pieces_fini(&windows->rest);
    pieces_fini(&windows->ready);
    free(windows->groups);
    free(windows->bins);
    free(windows->ranks);
    longest_first_fini(&windows->sort);
}

static uint64_t carried_tokens(const struct fixed_windows *windows)
{
    return windows->pool.tokens - windows->intake;
}

bool fixed_windows_wants(const void *state)
{
    const struct fixed_windows *windows = state;
    uint64_t window_tokens =
        (uint64_t)windows->window * windows->shape.microbatches * windows->shape.window;
    return windows->served_bins == windows->ready_bins &&
           windows->intake + windows->rest.tokens < window_tokens &&
           carried_tokens(windows) <= windows->most_carried;
}

/* Adds a piece to the pool, cut where a window of `plain` ends; the window's surplus is the rest.
 */
static int add_cut(struct fixed_windows *windows, struct piece piece, struct error *err)
{
    uint64_t window_tokens =
        (uint64_t)windows->window * windows->shape.microbatches * windows->shape.window;
    while (piece.length > 0 && windows->intake < window_tokens) {
        struct piece part = piece;
        if (part.length > windows->room)
            piece = piece_cut(&part, windows->room);
        else
            piece.length = 0;
        int status = pieces_push(&windows->pool, &part, err);
        if (status)
            return status;
        windows->intake += part.length;
        windows->room -= part.length;
        if (windows->room == 0)
            windows->room = windows->shape.window;
    }
    return piece.length > 0 ? pieces_push(&windows->rest, &piece, err) : 0;
}

/* The surplus of the last window comes first in this one. */
static int take_rest(struct fixed_windows *windows, struct error *err)
{
    if (windows->rest.count == 0)
        return 0;
    struct piece rest = *pieces_first(&windows->rest);
    pieces_clear(&windows->rest);
    return add_cut(windows, rest, err);
}

int fixed_windows_offer(void *state, const struct piece *piece, struct error *err)
{
    struct fixed_windows *windows = state;
    int status = take_rest(windows, err);
    return status ? status : add_cut(windows, *piece, err);
}

static uint32_t bin_for(const struct window_problem *problem, const struct window_bin *bins,
                        uint32_t length)
{
    uint32_t best = GROUP_NONE;
    for (uint32_t b = 0; b < problem->capped; b++)
        if (bins[b].tokens + length <= problem->room &&
            bins[b].work + (uint64_t)length * length <= problem->cap)
            return b;
    for (uint32_t b = problem->capped; b < problem->bins; b++)
        if (bins[b].tokens + length <= problem->room &&
            (best == GROUP_NONE || bins[b].work < bins[best].work))
            best = b;
    return best;
}

static void add_to_bin(struct window_bin *bin, uint32_t length)
{
    bin->tokens += length;
    bin->work += (uint64_t)length * length;
}

/* Pieces that have waited long go first, or short ones could wait for ever. */
static bool goes_first(const struct window_problem *problem, const struct piece *piece)
{
    return problem->some_go_first && piece->arrived <= problem->go_first;
}

static void fill_with(const struct window_problem *problem, bool first, struct window_bin *bins,
                      uint32_t *groups)
{
    for (size_t i = 0; i < problem->count; i++) {
        if (groups[i] != GROUP_NONE || goes_first(problem, &problem->pieces[i]) != first)
            continue;
        uint32_t length = problem->pieces[i].length;
        groups[i] = bin_for(problem, bins, length);
        if (groups[i] != GROUP_NONE)
            add_to_bin(&bins[groups[i]], length);
    }
}

void window_fill(const struct window_problem *problem, struct window_bin *bins, uint32_t *groups)
{
    fill_with(problem, true, bins, groups);
    fill_with(problem, false, bins, groups);
}

void window_count(const struct window_problem *problem, const uint32_t *groups,
                  struct window_bin *bins)
{
    for (uint32_t b = 0; b < problem->bins; b++)
        bins[b] = (struct window_bin){ .index = b };
    for (size_t i = 0; i < problem->count; i++)
        if (groups[i] != GROUP_NONE)
            add_to_bin(&bins[groups[i]], problem->pieces[i].length);
}

static int lighter_first(const void *left, const void *right)
{
    const struct window_bin *a = left, *b = right;
    if (a->work != b->work)
        return a->work < b->work ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* Renames the bins in order of work, so that N neighbours make a step. */
static void rank_by_work(struct fixed_windows *windows, uint32_t bins)
{
    qsort(windows->bins, bins, sizeof *windows->bins, lighter_first);
    for (uint32_t place = 0; place < bins; place++)
        windows->ranks[windows->bins[place].index] = place;
    for (size_t i = 0; i < windows->ready.count; i++)
        windows->groups[i] = windows->ranks[windows->groups[i]];
}

static uint64_t latest_arrival(const struct pieces *pieces)
{
    uint64_t latest = 0;
    for (size_t i = 0; i < pieces->count; i++)
        if (pieces_first(pieces)[i].arrived > latest)
            latest = pieces_first(pieces)[i].arrived;
    return latest;
}

static struct window_problem problem_of(const struct fixed_windows *windows, uint32_t bins)
{
    uint64_t now = latest_arrival(&windows->pool);
    bool some = now >= windows->most_delay;
    return (struct window_problem){ .pieces = pieces_first(&windows->pool),
                                    .count = windows->pool.count,
                                    .bins = bins,
                                    .room = windows->shape.window,
                                    .some_go_first = some,
                                    .go_first = some ? now - windows->most_delay : 0 };
}

/* Moves what has a bin from the pool to `ready`. */
static int take_placed(struct fixed_windows *windows, struct error *err)
{
    struct piece *items = pieces_first(&windows->pool);
    size_t kept = 0;
    pieces_clear(&windows->ready);
    for (size_t i = 0; i < windows->pool.count; i++) {
        if (windows->groups[i] == GROUP_NONE) {
            items[kept++] = items[i];
            continue;
        }
        windows->groups[windows->ready.count] = windows->groups[i];
        int status = pieces_push(&windows->ready, &items[i], err);
        if (status)
            return status;
    }
    windows->pool.count = kept;
    windows->pool.tokens -= windows->ready.tokens;
    return 0;
}

static uint32_t bins_wanted(const struct fixed_windows *windows, bool draining)
{
    uint32_t n = windows->shape.microbatches;
    uint64_t step = (uint64_t)n * windows->shape.window;
    uint64_t steps = (windows->pool.tokens + step - 1) / step;
    if (!draining || steps > windows->window)
        steps = windows->window;
    return (uint32_t)(steps ? steps : 1) * n;
}

static int pack_window(struct fixed_windows *windows, bool draining, struct error *err)
{
    int status = take_rest(windows, err);
    if (status)
        return status;
    uint32_t bins = bins_wanted(windows, draining);
    size_t count = windows->pool.count;
    if (!grow(windows->groups, &windows->group_capacity, count))
        return error_memory(err, "packing");
    status = longest_first_sort(&windows->sort, pieces_first(&windows->pool), count, err);
    if (status)
        return status;
    struct window_problem problem = problem_of(windows, bins);
    status = windows->assign(windows, &problem, windows->groups, err);
    if (status)
        return status;
    window_count(&problem, windows->groups, windows->bins);
    status = take_placed(windows, err);
    if (status)
        return status;
    rank_by_work(windows, bins);
    windows->ready_bins = bins;
    windows->served_bins = 0;
    windows->intake = 0;
    windows->room = windows->shape.window;
    return 0;
}

int fixed_windows_pack(void *state, bool draining, struct packing *ret_packing, struct error *err)
{
    struct fixed_windows *windows = state;
    if (windows->served_bins == windows->ready_bins) {
        int status = pack_window(windows, draining, err);
        if (status)
            return status;
    }
    /* The step's bins come first after subtraction; served ones wrap to numbers no step has. */
    uint32_t *groups = windows->groups;
    for (size_t i = 0; i < windows->ready.count; i++)
        groups[i] -= windows->served_bins;
    int status = group_pieces(&windows->shape, pieces_first(&windows->ready), groups,
                              windows->ready.count, ret_packing, err);
    for (size_t i = 0; i < windows->ready.count; i++)
        groups[i] += windows->served_bins;
    if (status == 0)
        windows->served_bins += windows->shape.microbatches;
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

size_t fixed_windows_waiting(const void *state, struct waiting_piece *pieces, size_t capacity)
{
    const struct fixed_windows *windows = state;
    struct listing listing = { .pieces = pieces, .capacity = capacity };
    for (size_t i = 0; i < windows->pool.count; i++)
        list_one(&listing, &pieces_first(&windows->pool)[i], CARRIED);
    for (size_t i = 0; i < windows->rest.count; i++)
        list_one(&listing, &pieces_first(&windows->rest)[i], CUT_REST);
    for (size_t i = 0; i < windows->ready.count; i++)
        if (windows->groups[i] >= windows->served_bins)
            list_one(&listing, &pieces_first(&windows->ready)[i],
                     FIRST_BIN + windows->groups[i] - windows->served_bins);
    return listing.count;
}

static void clear(struct fixed_windows *windows)
{
    pieces_clear(&windows->pool);
    pieces_clear(&windows->rest);
    pieces_clear(&windows->ready);
    windows->intake = 0;
    windows->room = windows->shape.window;
    windows->ready_bins = windows->served_bins = 0;
}

static int restore_one(struct fixed_windows *windows, const struct waiting_piece *waiting,
                       struct error *err)
{
    if (waiting->place == CARRIED)
        return pieces_push(&windows->pool, &waiting->piece, err);
    if (waiting->place == CUT_REST)
        return pieces_push(&windows->rest, &waiting->piece, err);

    uint32_t bin = waiting->place - FIRST_BIN, n = windows->shape.microbatches;
    if (bin >= windows->window * n)
        return error_set(err, EX_DATAERR,
                         "packer state: a piece waits in micro-batch %u of a window of %u: the "
                         "state belongs to another configuration",
                         bin, windows->window * n);
    if (!grow(windows->groups, &windows->group_capacity, windows->ready.count + 1))
        return error_memory(err, "packing");
    windows->groups[windows->ready.count] = bin;
    if (bin >= windows->ready_bins)
        windows->ready_bins = (bin / n + 1) * n; /* the heaviest bin of a step is never empty */
    return pieces_push(&windows->ready, &waiting->piece, err);
}

int fixed_windows_restore(void *state, const struct waiting_piece *pieces, size_t count,
                          struct error *err)
{
    struct fixed_windows *windows = state;
    clear(windows);
    for (size_t i = 0; i < count; i++) {
        int status = restore_one(windows, &pieces[i], err);
        if (status)
            return status;
    }
    return 0;
}

void fixed_windows_place_name(const void *state, uint32_t place, char *text, size_t bytes)
{
    const struct fixed_windows *windows = state;
    if (place == CARRIED)
        snprintf(text, bytes, "fits no micro-batch");
    else if (place == CUT_REST)
        snprintf(text, bytes, "cut at the end of the window");
    else
        snprintf(text, bytes, "packed, %u steps ahead",
                 (place - FIRST_BIN) / windows->shape.microbatches + 1);
}
