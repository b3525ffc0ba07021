#include "cp/arcs.h"

#include <stdlib.h>

#include "base/grow.h"
#include "cp/arc_search.h"
#include "cp/settle.h"
#include "cp/strategies.h"
#include "kernels/tiles/tile_pairs.h"

/* Good enough is a busiest rank within 1/1024 of what no plan can beat. */
#define GOOD_ENOUGH 1024

void arcs_fini(struct arcs *arcs)
{
    ring_fini(&arcs->ring);
    filler_fini(&arcs->filler);
    cp_shards_fini(&arcs->dealt);
    free(arcs->by_length);
    free(arcs->filled);
    free(arcs->hands);
    *arcs = (struct arcs){ 0 };
}

static int rising(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The shortest pieces, and whole tiles from the head of the next, until there are `enough`. */
static int choose_filler(const struct piece *pieces, size_t count, uint64_t enough, uint32_t tile,
                         struct arcs *arcs, struct error *err)
{
    filler_clear(&arcs->filler);
    for (size_t i = 0; i < count; i++) {
        arcs->by_length[i] = (uint64_t)pieces[i].length << 32 | i;
        arcs->filled[i] = 0;
    }
    if (count > 0 && enough > 0)
        qsort(arcs->by_length, count, sizeof *arcs->by_length, rising);
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

/* Lays all that is not filler on the ring, as it comes. */
static int lay_ring(const struct piece *pieces, size_t count, uint32_t tile, struct arcs *arcs,
                    struct error *err)
{
    ring_clear(&arcs->ring, tile);
    for (size_t i = 0; i < count; i++) {
        uint32_t filled = arcs->filled[i];
        struct chunk run = { (uint32_t)i, filled, pieces[i].length - filled };
        int status = ring_add(&arcs->ring, run, err);
        if (status)
            return status;
    }
    return 0;
}

/* An empty part of a hand, to which chunks are appended next. */
static struct cp_rank new_part(const struct arcs *arcs)
{
    return (struct cp_rank){ .first = (uint32_t)arcs->dealt.chunk_count };
}

static void sum_hand(const struct arcs *arcs, struct hand *hand)
{
    hand->tokens = (uint64_t)hand->from_ring.tokens + hand->from_filler.tokens;
    hand->pairs = 0;
    size_t end = (size_t)hand->from_filler.first + hand->from_filler.count;
    for (size_t i = hand->from_ring.first; i < end; i++) {
        const struct chunk *run = &arcs->dealt.chunks[i];
        hand->pairs += tile_pairs(arcs->ring.tile, run->start, run->length);
    }
}

int arcs_deal(struct arcs *arcs, uint64_t tokens, uint32_t left, struct hand *hand, bool *ret_dealt,
              struct error *err)
{
    int status = ring_sum(&arcs->ring, err);
    if (status)
        return status;
    struct filler *filler = &arcs->filler;
    uint64_t pairs =
        ring_pairs(&arcs->ring) + filler_pairs(filler, arcs->ring.tile, filler->tokens);
    struct share share = { tokens, .from_filler = filler->tokens / left, .pairs = pairs / left };
    struct arc arc;
    *ret_dealt = share.from_filler <= tokens && arc_search(&arcs->ring, filler, &share, &arc);
    if (!*ret_dealt)
        return 0;
    hand->from_ring = new_part(arcs);
    status = ring_take(&arcs->ring, arc.from, arc.to, &arcs->dealt, &hand->from_ring, err);
    hand->from_filler = new_part(arcs);
    if (status == 0)
        status = filler_take(filler, arc.missing, &arcs->dealt, &hand->from_filler, err);
    if (status == 0)
        sum_hand(arcs, hand);
    return status;
}

int arcs_deal_rest(struct arcs *arcs, struct hand *hand, struct error *err)
{
    hand->from_ring = new_part(arcs);
    for (size_t i = 0; i < arcs->ring.count; i++) {
        int status = cp_append(&arcs->dealt, &hand->from_ring, arcs->ring.runs[i], err);
        if (status)
            return status;
    }
    hand->from_filler = new_part(arcs);
    int status =
        filler_take(&arcs->filler, arcs->filler.tokens, &arcs->dealt, &hand->from_filler, err);
    if (status == 0)
        sum_hand(arcs, hand);
    return status;
}

/* Deals to all ranks; *ret_dealt is false when one could not be given its tokens. */
static int deal_all(struct arcs *arcs, uint64_t tokens, uint32_t ranks, bool *ret_dealt,
                    struct error *err)
{
    if (!grow(arcs->hands, &arcs->hands_capacity, ranks))
        return error_memory(err, "planning CP shards");
    arcs->dealt.chunk_count = 0;
    *ret_dealt = true;
    int status = 0;
    for (uint32_t r = 0; r + 1 < ranks && *ret_dealt && status == 0; r++)
        status = arcs_deal(arcs, tokens / ranks + (r < tokens % ranks), ranks - r, &arcs->hands[r],
                           ret_dealt, err);
    if (status == 0 && *ret_dealt)
        status = arcs_deal_rest(arcs, &arcs->hands[ranks - 1], err);
    return status;
}

static int by_place(const void *a, const void *b)
{
    const struct chunk *x = a, *y = b;
    if (x->piece != y->piece)
        return x->piece < y->piece ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

/* Writes a hand down as the plan of a rank: its chunks in order, those that touch joined. */
static int write_rank(struct arcs *arcs, const struct hand *hand, struct cp_shards *shards,
                      struct cp_rank *rank, struct error *err)
{
    struct chunk *runs = arcs->dealt.chunks + hand->from_ring.first;
    uint32_t count = hand->from_ring.count + hand->from_filler.count;
    if (count > 0)
        qsort(runs, count, sizeof *runs, by_place);
    *rank = (struct cp_rank){ .first = (uint32_t)shards->chunk_count };
    for (uint32_t i = 0; i < count; i++) {
        int status = cp_append(shards, rank, runs[i], err);
        if (status)
            return status;
    }
    return 0;
}

/* What the busiest rank has to do at least: cuts never make the tiles cost less. */
static uint64_t least_possible(const struct cp_options *options, const struct piece *pieces,
                               size_t count)
{
    uint64_t pairs = 0;
    for (size_t i = 0; i < count; i++)
        pairs += tile_pairs(options->tile, 0, pieces[i].length);
    return pairs / options->ranks;
}

/* All of cp_arcs but writing the plan down. */
static int deal_and_settle(const struct cp_options *options, const struct piece *pieces,
                           size_t count, uint32_t filler_tiles, struct arcs *arcs,
                           bool *ret_planned, struct error *err)
{
    uint64_t tokens = 0, enough = (uint64_t)filler_tiles * options->tile * options->ranks;
    for (size_t i = 0; i < count; i++)
        tokens += pieces[i].length;
    if (enough > tokens / 4)
        enough = tokens / 4;
    uint64_t least = least_possible(options, pieces, count);
    int status = choose_filler(pieces, count, enough, options->tile, arcs, err);
    if (status == 0)
        status = lay_ring(pieces, count, options->tile, arcs, err);
    if (status == 0)
        status = deal_all(arcs, tokens, options->ranks, ret_planned, err);
    if (status == 0 && *ret_planned)
        status = arcs_settle(arcs, options->ranks, least + least / GOOD_ENOUGH, err);
    return status;
}

int cp_arcs(const struct cp_options *options, const struct piece *pieces, size_t count,
            uint32_t filler_tiles, struct arcs *arcs, struct cp_shards *shards, bool *ret_planned,
            struct error *err)
{
    if (!grow(arcs->by_length, &arcs->by_length_capacity, count) ||
        !grow(arcs->filled, &arcs->filled_capacity, count))
        return error_memory(err, "planning CP shards");
    bool planned = false;
    int status = deal_and_settle(options, pieces, count, filler_tiles, arcs, &planned, err);
    for (uint32_t r = 0; r < options->ranks && status == 0 && planned; r++)
        status = write_rank(arcs, &arcs->hands[r], shards, &shards->ranks[r], err);
    if (status == 0)
        *ret_planned = planned;
    return status;
}
