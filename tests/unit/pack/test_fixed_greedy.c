#include "feed.h"

static struct feed open_greedy(uint32_t microbatches, uint32_t window, uint32_t batches)
{
    return feed_open(&pack_fixed_greedy, feed_shape(microbatches, window, window),
                     (struct pack_options){ .window = batches });
}

Test(fixed_greedy, longest_first_into_the_least_work)
{
    struct feed feed = open_greedy(2, 20, 1);
    uint32_t lengths[] = { 3, 12, 5, 8, 4, 8 };
    for (size_t i = 0; i < 6; i++)
        feed_offer(&feed, lengths[i]);
    cr_assert(!feed.policy->wants(feed.packer));
    feed_pack(&feed, false);
    /* Cut at 20: 3 12 5 | 8 4 8. By squares: 12 | 8 8 4 -> lighter bin; 5, 3 to the lighter. */
    cr_assert_eq(feed.packing.tokens, 40);
    cr_assert_eq(feed.packing.microbatches[0].tokens, 20);
    cr_assert_eq(feed.packing.microbatches[1].tokens, 20);
    EXPECT(&feed, 1, 12, 5, 3);
    EXPECT(&feed, 0, 8, 8, 4);
    feed_close(&feed);
}

Test(fixed_greedy, pieces_are_those_of_plain)
{
    struct feed feed = open_greedy(2, 10, 1);
    feed_offer(&feed, 7);
    feed_offer(&feed, 8);
    feed_offer(&feed, 9);
    feed_pack(&feed, false);
    /* plain cuts 7 3 | 5 5 and leaves 4 */
    EXPECT(&feed, 0, 5, 5);
    EXPECT(&feed, 1, 7, 3);
    cr_assert_eq(feed_waiting(&feed), 1);
    struct waiting_piece rest;
    feed.policy->waiting(feed.packer, &rest, 1);
    cr_assert_eq(rest.piece.length, 4);
    cr_assert_eq(rest.piece.offset, 5);
    feed_close(&feed);
}

Test(fixed_greedy, a_window_of_two_steps_groups_like_with_like)
{
    struct feed feed = open_greedy(2, 8, 2);
    uint32_t lengths[] = { 8, 2, 2, 2, 2, 8, 4, 4 };
    for (size_t i = 0; i < 8; i++)
        feed_offer(&feed, lengths[i]);
    feed_pack(&feed, false);
    cr_assert_eq(feed_waiting(&feed), 2, "the second step is ready");
    cr_assert(!feed.policy->wants(feed.packer));
    EXPECT(&feed, 0, 4, 2, 2);
    EXPECT(&feed, 1, 4, 2, 2);
    feed_pack(&feed, false);
    EXPECT(&feed, 0, 8);
    EXPECT(&feed, 1, 8);
    cr_assert(feed.policy->wants(feed.packer));
    feed_close(&feed);
}

Test(fixed_greedy, what_fits_nowhere_is_carried)
{
    struct feed feed = open_greedy(2, 10, 1);
    for (int i = 0; i < 3; i++)
        feed_offer(&feed, 6);
    feed_offer(&feed, 2);
    /* plain: 6 4 | 2 6 2; longest first: 6 | 6, 4 | 2, 2 */
    feed_pack(&feed, false);
    cr_assert_eq(feed.packing.tokens, 20);
    uint32_t carried[] = { 7, 7, 6 };
    for (size_t i = 0; i < 3; i++)
        feed_offer(&feed, carried[i]);
    /* 7 3 | 4 6 -> 7 3 | 6 4 */
    feed_pack(&feed, false);
    cr_assert_eq(feed.packing.tokens, 20);
    feed_close(&feed);
}

Test(fixed_greedy, drains_everything)
{
    struct feed feed = open_greedy(2, 10, 4);
    uint64_t offered = 0, served = 0;
    for (uint32_t i = 0; i < 9; i++) {
        feed_offer(&feed, 1 + i);
        offered += 1 + i;
    }
    for (int step = 0; step < 10; step++) {
        feed_pack(&feed, true);
        served += feed.packing.tokens;
        if (feed_waiting(&feed) == 0)
            break;
        cr_assert_gt(feed.packing.tokens, 0, "a step before the last is never empty");
    }
    cr_assert_eq(served, offered);
    feed_close(&feed);
}

Test(fixed_greedy, window_of_zero_is_refused)
{
    struct pack_shape shape = feed_shape(2, 10, 10);
    struct pack_options options = { .window = 0, .max_waiting_steps = 16 };
    struct error err = { 0 };
    void *state = NULL;
    cr_assert_eq(pack_fixed_greedy.open(&shape, &options, &state, &err), EX_CONFIG);
    cr_assert_null(state);
}
