#include "cp/arc_search.h"

#include <stdlib.h>

/* Of more runs than that, only some are tried as the start of an arc, lest it take too long. */
#define MOST_STARTS 1024

struct search {
    const struct ring *ring;
    const struct filler *filler;
    const struct share *share;
    struct arc best;
    bool found;
    uint64_t missing, missing_pairs; /* what filler_pairs was asked last */
};

static uint64_t pairs_of_missing(struct search *search, uint64_t missing)
{
    if (missing != search->missing) {
        search->missing = missing;
        search->missing_pairs = filler_pairs(search->filler, search->ring->tile, missing);
    }
    return search->missing_pairs;
}

/*
 * Keeps the arc if it fits better than those before. *ret_over is the rank's pairs beyond the goal,
 * below zero if less. False when the filler cannot make up its tokens.
 */
static bool consider(struct search *search, struct place from, struct place to, int64_t *ret_over)
{
    uint64_t taken = ring_arc_tokens(search->ring, from, to), tokens = search->share->tokens;
    if (taken > tokens || taken > ring_tokens(search->ring) ||
        tokens - taken > search->filler->tokens)
        return false;
    uint64_t pairs = ring_arc_pairs(search->ring, from, to);
    pairs += pairs_of_missing(search, tokens - taken);
    *ret_over = (int64_t)(pairs - search->share->pairs);
    uint64_t off = (uint64_t)llabs(*ret_over);
    if (!search->found || off < search->best.off)
        search->best = (struct arc){ from, to, tokens - taken, off };
    search->found = true;
    return true;
}

/* So many tiles further, but not beyond the end of the run. */
static struct place further(const struct ring *ring, struct place place, uint64_t tiles)
{
    uint32_t length = ring_run(ring, place.run)->length;
    uint64_t offset = place.offset + tiles * ring->tile;
    return (struct place){ place.run, offset < length ? (uint32_t)offset : length };
}

/*
 * Considers the arc [from, to) and those that start and end 1 to `last` tiles further in the same
 * two runs. Each has so many pairs more, or less, than the one before: what matters are the two at
 * the ends and the two next to where the goal is crossed.
 */
static void consider_span(struct search *search, struct place from, struct place to, uint64_t last)
{
    const struct ring *ring = search->ring;
    int64_t over, first_over, last_over;
    if (last > 0 && to.offset + last * ring->tile > ring_run(ring, to.run)->length) {
        /* The last ends with the run, less than a tile after the one before: out of line. */
        consider(search, further(ring, from, last), further(ring, to, last), &over);
        last--;
    }
    if (!consider(search, from, to, &first_over) || last == 0 ||
        !consider(search, further(ring, from, last), further(ring, to, last), &last_over) ||
        (first_over < 0) == (last_over < 0))
        return;
    uint64_t a_tile = (uint64_t)llabs(last_over - first_over) / last;
    uint64_t before = a_tile ? (uint64_t)llabs(first_over) / a_tile : 0;
    for (uint64_t tiles = before; tiles <= before + 1 && tiles < last; tiles++)
        consider(search, further(ring, from, tiles), further(ring, to, tiles), &over);
}

/* Considers the arcs that start in one run; *end is the run where the one before them ended. */
static void consider_run(struct search *search, size_t run, size_t *end)
{
    const struct ring *ring = search->ring;
    uint64_t wanted = search->share->tokens - search->share->from_filler, tile = ring->tile;
    uint64_t length = ring_run(ring, run)->length;
    for (uint64_t offset = 0, steps; offset < length; offset += steps * tile) {
        uint64_t target = ring->tokens[run] + offset + wanted;
        while (*end + 1 < 2 * ring->count && ring->tokens[*end + 1] <= target)
            ++*end;
        /* So many tiles further, the start or the end comes to another run. */
        uint64_t start_left = length - offset, end_left = ring->tokens[*end + 1] - target;
        steps = ((start_left < end_left ? start_left : end_left) + tile - 1) / tile;
        struct place from = { run, (uint32_t)offset };
        uint64_t whole = (target - ring->tokens[*end]) / tile;
        for (uint64_t tiles = whole; tiles <= whole + 1; tiles++)
            consider_span(search, from, further(ring, (struct place){ *end, 0 }, tiles), steps - 1);
    }
}

bool arc_search(const struct ring *ring, const struct filler *filler, const struct share *share,
                struct arc *ret_arc)
{
    struct search search = { .ring = ring, .filler = filler, .share = share };
    size_t end = 0, stride = 1 + ring->count / MOST_STARTS;
    for (size_t run = 0; run < ring->count; run += stride)
        consider_run(&search, run, &end);
    if (search.found)
        *ret_arc = search.best;
    return search.found;
}
