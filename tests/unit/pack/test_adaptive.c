/* Two micro-batches of S = 64 and W(d) = d + d^2 / 64: an outlier has 5 tokens. */
#include <math.h>
#include <string.h>

#include "feed.h"

static struct feed open_adaptive(uint32_t microbatches, uint32_t max_tokens, double balance,
                                 uint32_t max_delay)
{
    return feed_open(&pack_adaptive, feed_shape(microbatches, 64, max_tokens),
                     (struct pack_options){ .balance = balance, .max_delay = max_delay });
}

static void offer_many(struct feed *feed, size_t count, uint32_t length)
{
    for (size_t i = 0; i < count; i++)
        feed_offer(feed, length);
}

Test(adaptive, equal_outliers_do_not_wait)
{
    struct feed feed = open_adaptive(2, 128, 1, 4);
    offer_many(&feed, 4, 32);
    cr_assert_not(feed.policy->wants(feed.packer), "a global batch is at hand");
    feed_pack(&feed, false);
    EXPECT(&feed, 0, 32, 32);
    EXPECT(&feed, 1, 32, 32);
    cr_assert_eq(feed_waiting(&feed), 0);
    feed_close(&feed);
}

Test(adaptive, small_pieces_are_placed_longest_first)
{
    struct feed feed = open_adaptive(2, 128, 1, 4);
    for (uint32_t length = 1; length <= 4; length++)
        feed_offer(&feed, length);
    feed_pack(&feed, false);
    EXPECT(&feed, 0, 4, 1);
    EXPECT(&feed, 1, 3, 2);
    feed_close(&feed);
}

Test(adaptive, an_outlier_waits_for_company)
{
    struct feed feed = open_adaptive(2, 128, 1, 9);
    feed_offer(&feed, 64);
    offer_many(&feed, 8, 4);
    feed_pack(&feed, false);
    EXPECT(&feed, 0, 4, 4, 4, 4);
    EXPECT(&feed, 1, 4, 4, 4, 4);
    cr_assert_eq(feed_waiting(&feed), 1);

    feed_offer(&feed, 60);
    offer_many(&feed, 2, 4);
    feed_pack(&feed, false);
    EXPECT(&feed, 0, 64);
    EXPECT(&feed, 1, 60, 4, 4);
    cr_assert_eq(feed_waiting(&feed), 0);
    feed_close(&feed);
}

Test(adaptive, nothing_waits_at_balance_0)
{
    struct feed feed = open_adaptive(2, 128, 0, 4);
    feed_offer(&feed, 64);
    feed_offer(&feed, 6);
    offer_many(&feed, 8, 4);
    feed_pack(&feed, false);
    cr_assert_eq(feed_waiting(&feed), 0);
    EXPECT(&feed, 0, 64);
    feed_close(&feed);
}

/* Company never comes: served max_delay steps after it arrived, not one later or earlier. */
Test(adaptive, max_delay_ends_the_wait)
{
    struct feed feed = open_adaptive(2, 128, 1, 3);
    feed_offer(&feed, 64);
    for (int step = 0; step < 3; step++) {
        offer_many(&feed, 8, 4);
        feed_pack(&feed, false);
        cr_assert_eq(feed_waiting(&feed), 1, "step %d", step);
    }
    offer_many(&feed, 8, 4);
    feed_pack(&feed, false);
    cr_assert_eq(feed_waiting(&feed), 0);
    EXPECT(&feed, 0, 64);
    EXPECT(&feed, 1, 4, 4, 4, 4, 4, 4, 4, 4);
    feed_close(&feed);
}

/* As test_lookahead.c has it: known company in the next batch is waited for. */
Test(adaptive, foresight_changes_a_decision)
{
    uint32_t ahead[17] = { 64 };
    for (size_t i = 1; i < 17; i++)
        ahead[i] = 4;
    for (int knows = 0; knows < 2; knows++) {
        struct feed feed = open_adaptive(2, 128, 0.125, 9);
        feed.ahead = ahead;
        feed.ahead_count = knows ? 17 : 0;
        feed_offer(&feed, 64);
        offer_many(&feed, 8, 4);
        cr_assert_geq(feed.policy->foresight(feed.packer), 128);
        feed_pack(&feed, false);
        cr_assert_eq(feed_waiting(&feed), knows ? 1 : 0);
        feed_close(&feed);
    }
}

/* Small pieces that find no room are left over, go before the promise is broken, and are named. */
Test(adaptive, small_pieces_without_room_are_left_over)
{
    struct feed feed = open_adaptive(2, 64, 0, 2);
    struct waiting_piece waiting[4];
    char name[64];
    offer_many(&feed, 2, 62);
    feed_offer(&feed, 3);
    feed_offer(&feed, 2);
    feed_pack(&feed, false);
    cr_assert_eq(feed.policy->waiting(feed.packer, waiting, 4), 1);
    cr_assert_eq(waiting[0].piece.length, 3);
    cr_assert_eq(waiting[0].piece.arrived, 0);
    feed.policy->place_name(feed.packer, waiting[0].place, name, sizeof name);
    cr_assert_str_eq(name, "left over");

    offer_many(&feed, 2, 62); /* again no room for it, nor for one of these if it goes first */
    feed_pack(&feed, false);
    cr_assert_eq(feed_waiting(&feed), 1);
    offer_many(&feed, 2, 62);
    feed_pack(&feed, false);
    EXPECT(&feed, 0, 3);
    EXPECT(&feed, 1, 62);
    cr_assert_eq(feed.policy->waiting(feed.packer, waiting, 4), 1);
    cr_assert_eq(waiting[0].piece.length, 62);
    feed.policy->place_name(feed.packer, waiting[0].place, name, sizeof name);
    cr_assert_str_eq(name, "pool (>= 5 tokens)");
    feed_close(&feed);
}

/* 60 + 5 x 4 is full, and 64 + 3 x 4 is as heavy: one of 4 stays behind, if the promise permits. */
Test(adaptive, small_pieces_stay_behind_where_tokens_are_short)
{
    for (uint32_t max_delay = 1; max_delay <= 9; max_delay += 8) {
        struct feed feed = open_adaptive(2, 80, 1, max_delay);
        struct waiting_piece waiting[4];
        feed_offer(&feed, 64);
        feed_offer(&feed, 60);
        offer_many(&feed, 9, 4);
        feed_pack(&feed, false);
        cr_assert_eq(feed.policy->waiting(feed.packer, waiting, 4), max_delay > 1);
        if (max_delay > 1) {
            EXPECT(&feed, 0, 64, 4, 4, 4);
            EXPECT(&feed, 1, 60, 4, 4, 4, 4, 4);
            cr_assert_eq(waiting[0].piece.length, 4);
        }
        feed_pack(&feed, true);
        cr_assert_eq(feed_waiting(&feed), 0);
        feed_close(&feed);
    }
}

static uint32_t draw(uint64_t *state, uint32_t most)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return 1 + (uint32_t)(*state >> 33) % most;
}

static void fill_up(struct feed *feed, uint64_t *state)
{
    while (feed->policy->wants(feed->packer))
        feed_offer(feed, draw(state, draw(state, 4) == 1 ? 64 : 12));
}

/* Whatever waits, in whichever order, another packer goes on from it as this one does. */
Test(adaptive, restore_continues_exactly)
{
    struct feed feed = open_adaptive(4, 64, 0.6, 5), other = open_adaptive(4, 64, 0.6, 5);
    struct waiting_piece waiting[512];
    uint64_t state = 1, most = 0;
    for (int step = 0; step < 300; step++) {
        size_t count = feed.policy->waiting(feed.packer, waiting, 512);
        cr_assert_leq(count, 512);
        most = count > most ? count : most;
        cr_assert_eq(other.policy->restore(other.packer, waiting, count, NULL), 0);
        other.next_document = feed.next_document;
        uint64_t same = state;
        fill_up(&feed, &state);
        fill_up(&other, &same);
        cr_assert_eq(state, same, "both want the same");
        feed_pack(&feed, false);
        feed_pack(&other, false);
        cr_assert_eq(feed.packing.piece_count, other.packing.piece_count);
        cr_assert_eq(memcmp(feed.packing.pieces, other.packing.pieces,
                            feed.packing.piece_count * sizeof *feed.packing.pieces),
                     0, "step %d", step);
    }
    cr_assert_gt(most, 4, "there was something to restore");
    feed_close(&other);
    feed_close(&feed);
}

Test(adaptive, draining_releases_everything)
{
    struct feed feed = open_adaptive(2, 128, 1, 30);
    feed_offer(&feed, 64);
    offer_many(&feed, 8, 4);
    feed_pack(&feed, false);
    cr_assert_eq(feed_waiting(&feed), 1);
    feed_pack(&feed, true);
    cr_assert_eq(feed_waiting(&feed), 0);
    EXPECT(&feed, 0, 64);
    feed_pack(&feed, true);
    cr_assert_eq(feed.packing.piece_count, 0);
    feed_close(&feed);
}

/* One micro-batch cannot be out of level: its pieces wait for room only. */
Test(adaptive, a_single_microbatch_lets_nothing_wait_for_company)
{
    struct feed feed = open_adaptive(1, 64, 1, 1);
    struct waiting_piece waiting;
    for (int step = 0; step < 50; step++) {
        while (feed.policy->wants(feed.packer))
            feed_offer(&feed, step % 3 ? 40 : 9);
        feed_pack(&feed, false);
        cr_assert_geq(feed.packing.tokens, 40);
        for (size_t i = 0; i < feed.packing.piece_count; i++)
            cr_assert_leq(feed.step - 1 - feed.packing.pieces[i].arrived, 1);
        cr_assert_leq(feed_waiting(&feed), 1);
        if (feed.policy->waiting(feed.packer, &waiting, 1))
            cr_assert_eq(waiting.place, 0);
    }
    feed_close(&feed);
}

/* Two micro-batches of 64 are sure to hold 64 tokens, and 120 if the pieces are small. */
Test(adaptive, intake_is_bounded_by_the_promise)
{
    for (uint32_t max_delay = 1; max_delay <= 2; max_delay++) {
        struct feed feed = open_adaptive(2, 64, 1, max_delay);
        feed_offer(&feed, 59);
        feed_offer(&feed, 5);
        cr_assert(feed.policy->wants(feed.packer));
        feed_offer(&feed, 5);
        cr_assert_eq(feed.policy->wants(feed.packer), max_delay > 1);
        feed_close(&feed);

        struct feed small = open_adaptive(2, 64, 1, max_delay);
        offer_many(&small, 30, 4);
        cr_assert(small.policy->wants(small.packer));
        offer_many(&small, 1, 4);
        cr_assert_eq(small.policy->wants(small.packer), max_delay > 1);
        feed_close(&small);
    }
}

static void refused(double balance, uint32_t max_delay, const char *part)
{
    struct pack_shape shape = feed_shape(2, 64, 128);
    struct pack_options options = { .balance = balance, .max_delay = max_delay };
    struct error err = { 0 };
    void *state = NULL;
    cr_assert_eq(pack_adaptive.open(&shape, &options, &state, &err), EX_CONFIG);
    cr_assert(strstr(err.text, part), "%s", err.text);
    cr_assert_null(state);
}

Test(adaptive, bad_options_are_refused)
{
    refused(-0.001, 4, "packing.balance");
    refused(1.001, 4, "packing.balance");
    refused((double)NAN, 4, "packing.balance");
    refused(0.5, 0, "packing.max_delay");
    refused(0.5, 1025, "packing.max_delay");
}
