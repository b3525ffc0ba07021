#include "cp/arcs.h"

#include <stdlib.h>

#include "base/grow.h"
#include "cp/arc_search.h"
#include "cp/strategies.h"

void arcs_fini(struct arcs *arcs)
{
    ring_fini(&arcs->ring);
    filler_fini(&arcs->filler);
    free(arcs->by_length);
    free(arcs->filled);
    *arcs = (struct arcs){ 0 };
}

static int rising(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The shortest pieces, and whole tiles from the head of the next, until there are enough. */
static int choose_filler(const struct cp_options *options, const struct piece *pieces, size_t count,
                         uint32_t filler_tiles, struct arcs *arcs, struct error *err)
{
    uint64_t tile = options->tile, enough = filler_tiles * tile * options->ranks;
    if (enough > arcs->tokens / 4)
        enough = arcs->tokens / 4;
    filler_clear(&arcs->filler);
    for (size_t i = 0; i < count && arcs->filler.tokens < enough; i++) {
        uint32_t piece = (uint32_t)arcs->by_length[i], length = pieces[piece].length;
        uint64_t head = (enough - arcs->filler.tokens + tile - 1) / tile * tile;
        arcs->filled[piece] = length < head ? length : (uint32_t)head;
        struct chunk run = { piece, 0, arcs->filled[piece] };
        int status = filler_add(&arcs->filler, run, err);
        if (status)
            return status;
    }
    return 0;
}

int arcs_prepare(const struct cp_options *options, const struct piece *pieces, size_t count,
                 uint32_t filler_tiles, struct arcs *arcs, struct error *err)
{
    if (!grow(arcs->by_length, &arcs->by_length_capacity, count) ||
        !grow(arcs->filled, &arcs->filled_capacity, count))
        return error_memory(err, "planning CP shards");
    arcs->tokens = 0;
    for (size_t i = 0; i < count; i++) {
        arcs->by_length[i] = (uint64_t)pieces[i].length << 32 | i;
        arcs->filled[i] = 0;
        arcs->tokens += pieces[i].length;
    }
    if (count > 0)
        qsort(arcs->by_length, count, sizeof *arcs->by_length, rising);
    return choose_filler(options, pieces, count, filler_tiles, arcs, err);
}

/* Which piece lies at `place` of `count` on the ring. */
static uint32_t piece_at(const struct arcs *arcs, enum arcs_order order, size_t place, size_t count)
{
    size_t longest_first = count - 1 - place;
    switch (order) {
    case ARCS_LONGEST_FIRST:
        return (uint32_t)arcs->by_length[longest_first];
    case ARCS_SHORTEST_FIRST:
        return (uint32_t)arcs->by_length[place];
    case ARCS_LONG_AND_SHORT:
        return (uint32_t)arcs->by_length[place % 2 ? place / 2 : count - 1 - place / 2];
    case ARCS_AS_THEY_COME:
    default:
        return (uint32_t)place;
    }
}

static int lay_ring(const struct cp_options *options, const struct piece *pieces, size_t count,
                    enum arcs_order order, struct arcs *arcs, struct error *err)
{
    ring_clear(&arcs->ring, options->tile);
    for (size_t i = 0; i < count; i++) {
        uint32_t piece = piece_at(arcs, order, i, count), filled = arcs->filled[piece];
        int status = ring_add(&arcs->ring,
                              (struct chunk){ piece, filled, pieces[piece].length - filled }, err);
        if (status)
            return status;
    }
    return 0;
}

/* Gives `rank`, the first of `left`, so many tokens and about its part of the work. */
static int take_share(struct arcs *arcs, uint64_t tokens, uint32_t left, struct cp_shards *shards,
                      struct cp_rank *rank, bool *ret_planned, struct error *err)
{
    int status = ring_sum(&arcs->ring, err);
    if (status)
        return status;
    struct filler *filler = &arcs->filler;
    uint64_t pairs =
        ring_pairs(&arcs->ring) + filler_pairs(filler, arcs->ring.tile, filler->tokens);
    struct share share = { tokens, .from_filler = filler->tokens / left, .pairs = pairs / left };
    struct arc arc;
    *ret_planned = share.from_filler <= tokens && arc_search(&arcs->ring, filler, &share, &arc);
    if (!*ret_planned)
        return 0;
    status = ring_take(&arcs->ring, arc.from, arc.to, shards, rank, err);
    if (status == 0)
        status = filler_take(filler, arc.missing, shards, rank, err);
    return status;
}

/* The last rank gets all that is left. */
static int take_rest(struct arcs *arcs, struct cp_shards *shards, struct cp_rank *rank,
                     struct error *err)
{
    for (size_t i = 0; i < arcs->ring.count; i++) {
        int status = cp_append(shards, rank, arcs->ring.runs[i], err);
        if (status)
            return status;
    }
    return filler_take(&arcs->filler, arcs->filler.tokens, shards, rank, err);
}

static int by_place(const void *a, const void *b)
{
    const struct chunk *x = a, *y = b;
    if (x->piece != y->piece)
        return x->piece < y->piece ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

/* Puts the chunks of the last rank so far into order and joins those that touch. */
static void tidy_rank(struct cp_shards *shards, struct cp_rank *rank)
{
    struct chunk *chunks = shards->chunks + rank->first;
    if (rank->count == 0)
        return;
    qsort(chunks, rank->count, sizeof *chunks, by_place);
    uint32_t last = 0;
    for (uint32_t i = 1; i < rank->count; i++)
        if (chunks[last].piece == chunks[i].piece &&
            chunks[last].start + chunks[last].length == chunks[i].start)
            chunks[last].length += chunks[i].length;
        else
            chunks[++last] = chunks[i];
    rank->count = last + 1;
    shards->chunk_count = rank->first + rank->count;
}

int cp_arcs(const struct cp_options *options, const struct piece *pieces, size_t count,
            enum arcs_order order, struct arcs *arcs, struct cp_shards *shards, bool *ret_planned,
            struct error *err)
{
    uint32_t ranks = options->ranks;
    bool planned = true;
    filler_rewind(&arcs->filler);
    int status = lay_ring(options, pieces, count, order, arcs, err);
    for (uint32_t r = 0; r < ranks && status == 0 && planned; r++) {
        struct cp_rank *rank = &shards->ranks[r];
        *rank = (struct cp_rank){ .first = (uint32_t)shards->chunk_count };
        uint64_t tokens = arcs->tokens / ranks + (r < arcs->tokens % ranks);
        status = r + 1 < ranks ? take_share(arcs, tokens, ranks - r, shards, rank, &planned, err)
                               : take_rest(arcs, shards, rank, err);
        tidy_rank(shards, rank);
    }
    if (status == 0)
        *ret_planned = planned;
    return status;
}
