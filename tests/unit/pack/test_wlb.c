#include <string.h>

#include "feed.h"

static struct feed open_wlb(uint32_t microbatches, uint32_t window, uint32_t max_tokens,
                            unsigned levels, uint64_t *thresholds)
{
    return feed_open(&pack_wlb, feed_shape(microbatches, window, max_tokens),
                     (struct pack_options){ .outlier_thresholds = thresholds,
                                            .outlier_threshold_count = levels });
}

Test(wlb, outliers_wait_until_there_is_one_for_each_microbatch)
{
    struct feed feed = open_wlb(2, 100, 200, 1, (uint64_t[]){ 50 });
    feed_offer(&feed, 60);
    feed_offer(&feed, 30);
    feed_offer(&feed, 49);
    feed_pack(&feed, false);
    cr_assert_eq(feed_waiting(&feed), 1);
    EXPECT(&feed, 0, 49);
    EXPECT(&feed, 1, 30);

    feed_offer(&feed, 50);
    feed_offer(&feed, 10);
    feed_pack(&feed, false);
    cr_assert_eq(feed_waiting(&feed), 0);
    EXPECT(&feed, 0, 60);
    EXPECT(&feed, 1, 50, 10);
    feed_close(&feed);
}

Test(wlb, a_queue_hands_out_exactly_n_in_order_of_arrival)
{
    struct feed feed = open_wlb(2, 100, 400, 1, (uint64_t[]){ 50 });
    uint32_t lengths[] = { 51, 52, 53, 54, 55 };
    for (size_t i = 0; i < 5; i++)
        feed_offer(&feed, lengths[i]);
    feed_pack(&feed, false);
    EXPECT(&feed, 0, 52);
    EXPECT(&feed, 1, 51);
    feed_pack(&feed, false);
    EXPECT(&feed, 0, 54);
    EXPECT(&feed, 1, 53);
    cr_assert_eq(feed_waiting(&feed), 1);
    feed_close(&feed);
}

Test(wlb, levels_are_by_length)
{
    struct feed feed = open_wlb(1, 1000, 2000, 2, (uint64_t[]){ 10, 20 });
    struct waiting_piece waiting[4];
    feed_offer(&feed, 9);
    feed_offer(&feed, 10);
    feed_offer(&feed, 19);
    feed_offer(&feed, 20);
    cr_assert_eq(feed.policy->waiting(feed.packer, waiting, 4), 3);
    cr_assert_eq(waiting[0].place, 1);
    cr_assert_eq(waiting[1].place, 1);
    cr_assert_eq(waiting[2].place, 2);
    cr_assert_eq(waiting[2].piece.length, 20);
    char name[64];
    feed.policy->place_name(feed.packer, 2, name, sizeof name);
    cr_assert_str_eq(name, "queue 2 (>= 20 tokens)");
    feed_close(&feed);
}

/* Step 4: least workload first, else fewest tokens, else left over; tokens stay below S_max. */
Test(wlb, falls_back_to_fewest_tokens_then_leaves_over)
{
    struct feed feed = open_wlb(2, 20, 21, 0, NULL);
    uint32_t lengths[] = { 15, 4, 4, 4, 4, 4, 3, 3 };
    for (size_t i = 0; i < 8; i++)
        feed_offer(&feed, lengths[i]);
    feed_pack(&feed, false);
    EXPECT(&feed, 0, 15, 3); /* the lighter one is full: the one of fewer tokens takes 3 */
    EXPECT(&feed, 1, 4, 4, 4, 4, 4);
    cr_assert_eq(feed_waiting(&feed), 1, "18 + 3 would reach S_max");
    feed_offer(&feed, 19);
    feed_pack(&feed, false);
    EXPECT(&feed, 0, 3); /* in front of what is new, although shorter */
    EXPECT(&feed, 1, 19);
    feed_close(&feed);
}

Test(wlb, only_new_is_sorted_left_overs_keep_their_order)
{
    struct feed feed = open_wlb(1, 20, 21, 0, NULL);
    uint32_t lengths[] = { 15, 14, 13, 6 };
    for (size_t i = 0; i < 4; i++)
        feed_offer(&feed, lengths[i]);
    feed_pack(&feed, false);
    EXPECT(&feed, 0, 15);
    feed_pack(&feed, false);
    EXPECT(&feed, 0, 14, 6);
    feed_offer(&feed, 20);
    feed_pack(&feed, false);
    EXPECT(&feed, 0, 13);
    feed_close(&feed);
}

Test(wlb, a_piece_as_long_as_s_max_takes_an_empty_microbatch)
{
    struct feed feed = open_wlb(2, 20, 20, 0, NULL);
    feed_offer(&feed, 20);
    feed_offer(&feed, 20);
    feed_pack(&feed, false);
    EXPECT(&feed, 0, 20);
    EXPECT(&feed, 1, 20);
    feed_close(&feed);
}

Test(wlb, draining_releases_every_queue)
{
    struct feed feed = open_wlb(4, 100, 200, 2, (uint64_t[]){ 50, 80 });
    feed_offer(&feed, 90);
    feed_offer(&feed, 60);
    feed_pack(&feed, false);
    cr_assert_eq(feed_waiting(&feed), 2);
    cr_assert_eq(feed.packing.tokens, 0);
    feed_pack(&feed, true);
    cr_assert_eq(feed_waiting(&feed), 0);
    EXPECT(&feed, 0, 90);
    EXPECT(&feed, 1, 60);
    feed_close(&feed);
}

/* Thresholds so low that every piece queues: intake pauses, memory stays bounded, work goes on. */
Test(wlb, intake_pauses_while_too_much_waits)
{
    struct feed feed = feed_open(&pack_wlb, feed_shape(2, 100, 200),
                                 (struct pack_options){ .outlier_thresholds = (uint64_t[]){ 1 },
                                                        .outlier_threshold_count = 1,
                                                        .max_waiting_steps = 3 });
    uint64_t served = 0, offered = 0;
    for (int step = 0; step < 200; step++) {
        while (feed.policy->wants(feed.packer)) {
            feed_offer(&feed, 2);
            offered += 2;
        }
        feed_pack(&feed, false);
        served += feed.packing.tokens;
        cr_assert_gt(feed.packing.tokens, 0);
        cr_assert_leq(offered - served, 3 * 200 + 200);
    }
    feed_close(&feed);
}

static void refused(unsigned levels, uint64_t *thresholds, uint32_t max_waiting, const char *part)
{
    struct pack_shape shape = feed_shape(2, 100, 200);
    struct pack_options options = { .outlier_thresholds = thresholds,
                                    .outlier_threshold_count = levels,
                                    .max_waiting_steps = max_waiting };
    struct error err = { 0 };
    void *state = NULL;
    cr_assert_eq(pack_wlb.open(&shape, &options, &state, &err), EX_CONFIG);
    cr_assert(strstr(err.text, part), "%s", err.text);
    cr_assert_null(state);
}

Test(wlb, bad_thresholds_are_refused)
{
    uint64_t many[PACK_MAX_THRESHOLDS + 1];
    for (unsigned i = 0; i <= PACK_MAX_THRESHOLDS; i++)
        many[i] = i + 1;
    refused(PACK_MAX_THRESHOLDS + 1, many, 100, "at most");
    refused(2, (uint64_t[]){ 10, 10 }, 16, "rising");
    refused(1, (uint64_t[]){ 0 }, 16, "rising");
    refused(3, (uint64_t[]){ 1, 2, 3 }, 3, "max_waiting_steps");
}
