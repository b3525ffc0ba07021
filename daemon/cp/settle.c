#include "cp/settle.h"

/* How often ranks are relieved at most, and how many light ones are asked each time. */
#define ROUNDS_PER_RANK 2
#define MOST_ROUNDS 64
#define PARTNERS 8

static uint32_t busiest(const struct hand *hands, uint32_t ranks)
{
    uint32_t found = 0;
    for (uint32_t r = 1; r < ranks; r++)
        if (hands[r].pairs > hands[found].pairs)
            found = r;
    return found;
}

/* Is hand `a` before hand `b`, lightest first, like ones in the order of ranks? */
static bool before(const struct hand *hands, uint32_t a, uint32_t b)
{
    return hands[a].pairs != hands[b].pairs ? hands[a].pairs < hands[b].pairs : a < b;
}

/* The lightest rank, or the next after `after` unless that is `ranks`; `ranks` if there is none. */
static uint32_t next_lightest(const struct hand *hands, uint32_t ranks, uint32_t after)
{
    uint32_t found = ranks;
    for (uint32_t r = 0; r < ranks; r++)
        if ((after == ranks || before(hands, after, r)) &&
            (found == ranks || before(hands, r, found)))
            found = r;
    return found;
}

/* Puts what a hand holds back into the ring and the filler. */
static int put_back(struct arcs *arcs, const struct hand *hand, struct error *err)
{
    const struct chunk *runs = arcs->dealt.chunks;
    int status = 0;
    for (uint32_t i = 0; i < hand->from_ring.count && status == 0; i++)
        status = ring_add(&arcs->ring, runs[hand->from_ring.first + i], err);
    for (uint32_t i = 0; i < hand->from_filler.count && status == 0; i++)
        status = filler_add(&arcs->filler, runs[hand->from_filler.first + i], err);
    return status;
}

/* Deals two hands anew; *ret_better says whether the busier of them is less busy now. */
static int deal_anew(struct arcs *arcs, struct hand *busy, struct hand *light, bool *ret_better,
                     struct error *err)
{
    ring_clear(&arcs->ring, arcs->ring.tile);
    filler_clear(&arcs->filler);
    int status = put_back(arcs, busy, err);
    if (status == 0)
        status = put_back(arcs, light, err);
    struct hand first, second;
    bool dealt = false;
    size_t mark = arcs->dealt.chunk_count;
    if (status == 0)
        status = arcs_deal(arcs, busy->tokens, 2, &first, &dealt, err);
    if (status == 0 && dealt)
        status = arcs_deal_rest(arcs, &second, err);
    if (status)
        return status;
    *ret_better = dealt && first.pairs < busy->pairs && second.pairs < busy->pairs;
    if (*ret_better) {
        *busy = first;
        *light = second;
    } else {
        arcs->dealt.chunk_count = mark;
    }
    return 0;
}

/* Relieves a rank with the help of a light one; *ret_better says whether one could help. */
static int relieve(struct arcs *arcs, uint32_t ranks, uint32_t busy, bool *ret_better,
                   struct error *err)
{
    *ret_better = false;
    uint32_t light = ranks;
    for (int i = 0; i < PARTNERS && !*ret_better; i++) {
        light = next_lightest(arcs->hands, ranks, light);
        if (light == ranks || light == busy)
            return 0;
        int status = deal_anew(arcs, &arcs->hands[busy], &arcs->hands[light], ret_better, err);
        if (status)
            return status;
    }
    return 0;
}

int arcs_settle(struct arcs *arcs, uint32_t ranks, uint64_t good, struct error *err)
{
    uint32_t rounds = ranks * ROUNDS_PER_RANK < MOST_ROUNDS ? ranks * ROUNDS_PER_RANK : MOST_ROUNDS;
    for (uint32_t round = 0; round < rounds; round++) {
        bool better = false;
        uint32_t busy = busiest(arcs->hands, ranks);
        if (arcs->hands[busy].pairs <= good)
            return 0;
        int status = relieve(arcs, ranks, busy, &better, err);
        if (status || !better)
            return status;
    }
    return 0;
}
