#include "pack/grouping.h"

#include "feed.h"

Test(grouping, keeps_order_and_leaves_out_what_has_no_group)
{
    struct pack_shape shape = feed_shape(3, 100, 100);
    struct piece pieces[6];
    for (uint32_t i = 0; i < 6; i++)
        pieces[i] = (struct piece){ .document = i, .length = 10 + i };
    uint32_t groups[] = { 2, 0, GROUP_NONE, 2, 0, 3 };
    struct feed feed = { 0 };
    cr_assert_eq(group_pieces(&shape, pieces, groups, 6, &feed.packing, NULL), 0);
    EXPECT(&feed, 0, 11, 14);
    cr_assert_eq(feed.packing.microbatches[1].count, 0);
    EXPECT(&feed, 2, 10, 13);
    cr_assert_eq(feed.packing.tokens, 48);
    cr_assert_eq(feed.packing.piece_count, 4);
    cr_assert_eq(feed.packing.microbatches[0].workload,
                 cost_piece(&shape.cost, 11) + cost_piece(&shape.cost, 14));
    packing_fini(&feed.packing);
}

Test(grouping, nothing_to_group)
{
    struct pack_shape shape = feed_shape(2, 100, 100);
    struct packing packing = { 0 };
    cr_assert_eq(group_pieces(&shape, NULL, NULL, 0, &packing, NULL), 0);
    cr_assert_eq(packing.tokens, 0);
    cr_assert_eq(packing.microbatches[1].count, 0);
    packing_fini(&packing);
}
