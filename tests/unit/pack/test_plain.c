#include "feed.h"

Test(plain, cuts_documents_at_window_edges)
{
    struct feed feed = feed_open(&pack_plain, feed_shape(2, 10, 10), (struct pack_options){ 0 });
    feed_offer(&feed, 7);
    feed_offer(&feed, 8);
    cr_assert(feed.policy->wants(feed.packer));
    feed_offer(&feed, 9);
    cr_assert(!feed.policy->wants(feed.packer));
    feed_pack(&feed, false);
    EXPECT(&feed, 0, 7, 3);
    EXPECT(&feed, 1, 5, 5);
    const struct piece *pieces = feed.packing.pieces;
    cr_assert_eq(pieces[1].flags, 0, "a cut piece does not end its document");
    cr_assert_eq(pieces[2].offset, 3);
    cr_assert_eq(pieces[2].flags, PIECE_ENDS_DOCUMENT);
    cr_assert_eq(feed_waiting(&feed), 1);

    feed_offer(&feed, 10);
    feed_offer(&feed, 10);
    feed_pack(&feed, false);
    EXPECT(&feed, 0, 4, 6);
    EXPECT(&feed, 1, 4, 6);
    cr_assert_eq(feed.packing.pieces[0].offset, 5);
    cr_assert_eq(feed.packing.pieces[0].arrived, 0);
    feed_close(&feed);
}

Test(plain, last_windows_are_short)
{
    struct feed feed = feed_open(&pack_plain, feed_shape(3, 10, 10), (struct pack_options){ 0 });
    feed_offer(&feed, 12);
    feed_pack(&feed, true);
    EXPECT(&feed, 0, 10);
    EXPECT(&feed, 1, 2);
    cr_assert_eq(feed.packing.microbatches[2].count, 0);
    feed_pack(&feed, true);
    cr_assert_eq(feed.packing.tokens, 0);
    feed_close(&feed);
}

Test(plain, a_document_over_several_windows)
{
    struct feed feed = feed_open(&pack_plain, feed_shape(1, 10, 10), (struct pack_options){ 0 });
    feed_offer(&feed, 10);
    feed_pack(&feed, false);
    EXPECT(&feed, 0, 10);
    cr_assert_eq(feed_waiting(&feed), 0);
    feed_close(&feed);
}
