#include <criterion/criterion.h>

#include "cp/settle.h"
#include "cp/strategies.h"
#include "kernels/tiles/tile_pairs.h"

#define TILE 128

/* Appends to the part of a hand that was begun last. */
static void give(struct arcs *arcs, struct cp_rank *part, uint32_t piece, uint32_t length)
{
    struct error err = { 0 };
    struct chunk run = { piece, 0, length };
    cr_assert_eq(cp_append(&arcs->dealt, part, run, &err), 0, "%s", err.text);
}

static void sum(const struct arcs *arcs, struct hand *hand)
{
    hand->tokens = (uint64_t)hand->from_ring.tokens + hand->from_filler.tokens;
    hand->pairs = 0;
    for (uint32_t i = 0; i < hand->from_ring.count + hand->from_filler.count; i++) {
        const struct chunk *run = &arcs->dealt.chunks[hand->from_ring.first + i];
        hand->pairs += tile_pairs(TILE, run->start, run->length);
    }
}

/* One long piece on the first rank, `count` short ones on the second, and a little filler on each.
 */
static void deal_unfairly(struct arcs *arcs, struct hand hands[2], uint32_t count, uint32_t length)
{
    ring_clear(&arcs->ring, TILE);
    arcs->hands = hands;
    hands[0] = (struct hand){ .from_ring = { .first = 0 } };
    give(arcs, &hands[0].from_ring, 0, count * length);
    hands[0].from_filler.first = 1;
    give(arcs, &hands[0].from_filler, 100, 200);
    sum(arcs, &hands[0]);
    hands[1] = (struct hand){ .from_ring = { .first = 2 } };
    for (uint32_t i = 1; i <= count; i++)
        give(arcs, &hands[1].from_ring, i, length);
    hands[1].from_filler.first = 2 + count;
    give(arcs, &hands[1].from_filler, 101, 201);
    sum(arcs, &hands[1]);
}

static void fini(struct arcs *arcs)
{
    arcs->hands = NULL; /* they are on the stack */
    arcs_fini(arcs);
}

Test(settle, a_light_rank_relieves_the_busiest)
{
    struct arcs arcs = { 0 };
    struct hand hands[2];
    struct error err = { 0 };
    deal_unfairly(&arcs, hands, 16, 512);
    uint64_t all = hands[0].pairs + hands[1].pairs;
    cr_assert_gt(hands[0].pairs, hands[1].pairs * 3);
    cr_assert_eq(arcs_settle(&arcs, 2, 0, &err), 0, "%s", err.text);
    cr_expect_eq(hands[0].tokens, 16 * 512 + 200);
    cr_expect_eq(hands[1].tokens, 16 * 512 + 201);
    for (int i = 0; i < 2; i++) {
        struct hand settled = hands[i];
        sum(&arcs, &settled);
        cr_expect_eq(settled.pairs, hands[i].pairs);
        cr_expect_eq(settled.tokens, hands[i].tokens);
        cr_expect_lt(hands[i].pairs, all / 2 + all / 50);
    }
    fini(&arcs);
}

Test(settle, what_is_good_is_left_alone)
{
    struct arcs arcs = { 0 };
    struct hand hands[2];
    struct error err = { 0 };
    deal_unfairly(&arcs, hands, 4, 512);
    struct hand busy = hands[0], light = hands[1];
    cr_assert_eq(arcs_settle(&arcs, 2, busy.pairs, &err), 0, "%s", err.text);
    cr_expect_eq(hands[0].pairs, busy.pairs);
    cr_expect_eq(hands[1].pairs, light.pairs);
    cr_expect_eq(hands[0].from_ring.first, busy.from_ring.first);
    fini(&arcs);
}

/* One rank has nobody to help it; equal ranks cannot be relieved, and it must end all the same. */
Test(settle, ends_where_nothing_helps)
{
    struct arcs arcs = { 0 };
    struct hand hands[2];
    struct error err = { 0 };
    deal_unfairly(&arcs, hands, 1, 512);
    cr_assert_eq(arcs_settle(&arcs, 1, 0, &err), 0, "%s", err.text);
    cr_assert_eq(arcs_settle(&arcs, 2, 0, &err), 0, "%s", err.text);
    cr_expect_eq(hands[0].tokens + hands[1].tokens, 2 * 512 + 401);
    fini(&arcs);
}
