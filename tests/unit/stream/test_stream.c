#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "stream/stream.h"
#include "support/length_job.h"

#define LENGTHS(...)                                                                               \
    .lengths = (const uint32_t[]){ __VA_ARGS__ },                                                  \
    .count = sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t)

static struct stream *open_stream(const struct length_job *job, uint64_t seed, uint32_t window,
                                  enum long_documents long_documents)
{
    struct stream_options options = { seed, window, long_documents, NULL };
    struct stream *stream;
    struct error err = { 0 };
    cr_assert_eq(stream_new(job->corpus, &options, &stream, &err), 0, "%s", err.text);
    return stream;
}

static struct length_job open_one(uint32_t epochs, const uint32_t *lengths, size_t count)
{
    struct length_source source = { "one", 1, epochs, lengths, count };
    return length_job_open("context_window: 1000", &source, 1);
}

Test(stream, an_epoch_is_every_document_once_in_shuffled_order)
{
    uint32_t lengths[100];
    for (uint32_t i = 0; i < 100; i++)
        lengths[i] = i + 1;
    struct length_job job = open_one(3, lengths, 100);
    struct stream *stream = open_stream(&job, 5, 1000, LONG_SPLIT);
    struct piece piece;
    uint64_t orders[3][100];
    for (int epoch = 0; epoch < 3; epoch++) {
        unsigned char seen[100] = { 0 };
        for (int i = 0; i < 100; i++) {
            cr_assert(stream_next(stream, &piece));
            cr_assert_eq(piece.length, piece.document + 1);
            cr_assert_eq(piece.flags, PIECE_ENDS_DOCUMENT);
            cr_assert_eq(seen[piece.document]++, 0);
            orders[epoch][i] = piece.document;
        }
    }
    cr_assert(!stream_next(stream, &piece));
    cr_assert(!stream_next(stream, &piece));
    cr_assert_neq(memcmp(orders[0], orders[1], sizeof orders[0]), 0, "epochs differ in order");
    cr_assert_neq(memcmp(orders[1], orders[2], sizeof orders[0]), 0);
    stream_free(stream);
    length_job_close(&job);
}

Test(stream, split_keeps_every_token)
{
    struct length_job job = open_one(1, (uint32_t[]){ 25 }, 1);
    struct stream *stream = open_stream(&job, 1, 10, LONG_SPLIT);
    struct piece piece;
    uint32_t expected[] = { 10, 10, 5 };
    for (int i = 0; i < 3; i++) {
        cr_assert(stream_next(stream, &piece));
        cr_assert_eq(piece.offset, 10 * (uint64_t)i);
        cr_assert_eq(piece.length, expected[i]);
        cr_assert_eq(piece.flags, i == 2 ? PIECE_ENDS_DOCUMENT : 0);
    }
    cr_assert(!stream_next(stream, &piece));
    cr_assert_eq(stream_cursors(stream)->documents, 1);
    stream_free(stream);
    length_job_close(&job);
}

Test(stream, truncate_keeps_the_head_and_counts_the_rest)
{
    struct length_job job = open_one(1, (uint32_t[]){ 25, 10 }, 2);
    struct stream *stream = open_stream(&job, 1, 10, LONG_TRUNCATE);
    struct piece piece;
    int ends = 0, count = 0;
    while (stream_next(stream, &piece)) {
        cr_assert_eq(piece.offset, 0);
        cr_assert_eq(piece.length, 10);
        cr_assert_eq(piece.flags, piece.document == 1 ? PIECE_ENDS_DOCUMENT : 0,
                     "a truncated piece keeps its true next token as label");
        ends += piece.flags;
        count++;
    }
    cr_assert_eq(count, 2);
    cr_assert_eq(ends, 1);
    cr_assert_eq(stream_cursors(stream)->dropped_tokens, 15);
    cr_assert_eq(stream_cursors(stream)->dropped_documents, 0);
    stream_free(stream);
    length_job_close(&job);
}

Test(stream, drop_and_empty_documents_are_counted)
{
    struct length_job job = open_one(1, (uint32_t[]){ 0, 25, 7, 0, 10 }, 5);
    struct stream *stream = open_stream(&job, 1, 10, LONG_DROP);
    struct piece piece;
    uint64_t tokens = 0;
    while (stream_next(stream, &piece))
        tokens += piece.length;
    cr_assert_eq(tokens, 17);
    const struct source_cursor *cursor = stream_cursors(stream);
    cr_assert_eq(cursor->empty_documents, 2);
    cr_assert_eq(cursor->dropped_documents, 1);
    cr_assert_eq(cursor->dropped_tokens, 25);
    cr_assert_eq(cursor->documents, 2);
    cr_assert_eq(cursor->tokens, 17);
    stream_free(stream);
    length_job_close(&job);
}

Test(stream, repeating_a_source_without_usable_documents_is_an_error)
{
    struct length_job job = open_one(0, (uint32_t[]){ 25, 30 }, 2);
    struct stream_options options = { 1, 10, LONG_DROP, NULL };
    struct stream *stream = NULL;
    struct error err = { 0 };
    cr_assert_eq(stream_new(job.corpus, &options, &stream, &err), EX_DATAERR);
    cr_assert(strstr(err.text, "source one"), "%s", err.text);
    cr_assert_null(stream);
    length_job_close(&job);
}

/* Token weights, however unlike the documents are: at every prefix within one document each. */
Test(stream, blend_follows_token_weights)
{
    struct length_source sources[] = {
        { "long", 0.7, 0, LENGTHS(900, 1000, 700, 20) },
        { "short", 0.2, 0, LENGTHS(5, 7, 3, 1, 2) },
        { "middle", 0.1, 0, LENGTHS(100, 50) },
    };
    struct length_job job = length_job_open("context_window: 1000", sources, 3);
    struct stream *stream = open_stream(&job, 1, 1000, LONG_SPLIT);
    double total = 0, served[3] = { 0 };
    for (int i = 0; i < 20000; i++) {
        struct piece piece;
        cr_assert(stream_next(stream, &piece));
        served[piece.source] += piece.length;
        total += piece.length;
        for (int s = 0; s < 3; s++)
            cr_assert_lt(served[s] - sources[s].weight * total, 1000.0 + 1.0);
    }
    for (int s = 0; s < 3; s++)
        cr_assert_float_eq(served[s] / total, sources[s].weight, 2000.0 / total);
    stream_free(stream);
    length_job_close(&job);
}

Test(stream, an_exhausted_source_leaves_the_others_their_proportion)
{
    struct length_source sources[] = {
        { "ends", 0.5, 1, LENGTHS(10, 10) },
        { "a", 0.375, 0, LENGTHS(10) },
        { "b", 0.125, 0, LENGTHS(10) },
    };
    struct length_job job = length_job_open("context_window: 1000", sources, 3);
    struct stream *stream = open_stream(&job, 1, 1000, LONG_SPLIT);
    double served[3] = { 0 };
    for (int i = 0; i < 4000; i++) {
        struct piece piece;
        cr_assert(stream_next(stream, &piece));
        served[piece.source] += piece.length;
    }
    cr_assert_eq(served[0], 20);
    cr_assert_float_eq(served[1] / served[2], 3.0, 0.01);
    stream_free(stream);
    length_job_close(&job);
}

Test(stream, seek_continues_exactly_from_any_cursor)
{
    struct length_source sources[] = {
        { "a", 2, 2, LENGTHS(3, 25, 11, 0, 4) },
        { "b", 1, 0, LENGTHS(40, 1, 9) },
    };
    struct length_job job = length_job_open("context_window: 1000", sources, 2);
    struct stream *whole = open_stream(&job, 9, 10, LONG_SPLIT);
    struct stream *resumed = open_stream(&job, 9, 10, LONG_SPLIT);
    for (int i = 0; i < 300; i++) {
        struct source_cursor cursors[2];
        memcpy(cursors, stream_cursors(whole), sizeof cursors);
        stream_seek(resumed, cursors);
        struct piece expected, found;
        cr_assert(stream_next(whole, &expected));
        cr_assert(stream_next(resumed, &found));
        cr_assert_eq(memcmp(&expected, &found, sizeof found), 0, "piece %d", i);
        cr_assert_eq(memcmp(stream_cursors(whole), stream_cursors(resumed), sizeof cursors), 0);
    }
    stream_free(whole);
    stream_free(resumed);
    length_job_close(&job);
}

Test(stream, order_depends_on_seed_and_source_name_only)
{
    uint32_t *lengths = heavy_tailed_lengths(1, 200, 100);
    struct length_source a = { "a", 1, 1, lengths, 200 }, b = { "b", 1, 1, lengths, 200 };
    struct length_job jobs[] = { length_job_open("context_window: 1000", &a, 1),
                                 length_job_open("context_window: 1000", &b, 1) };
    struct stream *streams[] = { open_stream(&jobs[0], 1, 1000, LONG_SPLIT),
                                 open_stream(&jobs[0], 1, 1000, LONG_SPLIT),
                                 open_stream(&jobs[0], 2, 1000, LONG_SPLIT),
                                 open_stream(&jobs[1], 1, 1000, LONG_SPLIT) };
    int same[4] = { 0 };
    for (int i = 0; i < 200; i++) {
        struct piece first, piece;
        cr_assert(stream_next(streams[0], &first));
        for (int s = 1; s < 4; s++) {
            cr_assert(stream_next(streams[s], &piece));
            same[s] += piece.document == first.document;
        }
    }
    cr_assert_eq(same[1], 200);
    cr_assert_lt(same[2], 20);
    cr_assert_lt(same[3], 20);
    for (int s = 0; s < 4; s++)
        stream_free(streams[s]);
    length_job_close(&jobs[0]);
    length_job_close(&jobs[1]);
    free(lengths);
}

/* Of the shard one-1: the documents 2 and 3. */
Test(stream, a_dropped_shard_is_counted_and_not_handed_out)
{
    uint32_t lengths[] = { 25, 10, 25, 25, 0, 25 };
    struct length_source source = { "one", 1, 2, lengths, 6 };
    struct length_job job = length_job_open_sharded("context_window: 1000", &source, 1, 3);
    struct stream *stream = open_stream(&job, 1, 10, LONG_SPLIT);
    struct piece piece;
    do
        cr_assert(stream_next(stream, &piece));
    while (piece.document != 2 && piece.document != 3);
    cr_assert_eq(piece.offset, 0);
    uint64_t before = stream_cursors(stream)->tokens;
    cr_assert_eq(stream_drop_shard(stream, 0, 1, NULL), 0);
    while (stream_next(stream, &piece))
        cr_assert(piece.document != 2 && piece.document != 3);
    const struct source_cursor *cursor = stream_cursors(stream);
    cr_assert_eq(cursor->tokens + cursor->dropped_tokens, 2 * 110);
    cr_assert_eq(cursor->dropped_tokens, 15 + 25 * (before > 60 ? 2 : 3));
    cr_assert_eq(cursor->dropped_documents, before > 60 ? 2 : 3);
    cr_assert_null(stream_changed(stream));
    stream_free(stream);
    length_job_close(&job);
}

Test(stream, something_of_a_source_is_always_kept)
{
    uint32_t lengths[] = { 5, 50, 0 };
    struct length_source repeats = { "one", 1, 0, lengths, 3 }, ends = { "one", 1, 1, lengths, 3 };
    struct length_job forever = length_job_open_sharded("context_window: 1000", &repeats, 1, 3);
    struct length_job once = length_job_open_sharded("context_window: 1000", &ends, 1, 3);
    struct stream *stream = open_stream(&forever, 1, 10, LONG_DROP);
    struct error err = { 0 };
    struct piece piece;
    cr_assert_eq(stream_drop_shard(stream, 0, 0, &err), EX_DATAERR, "the rest is too long");
    cr_assert(strstr(err.text, "without the shard one-0 nothing of it is left"), "%s", err.text);
    cr_assert(stream_next(stream, &piece));
    cr_assert_eq(piece.document, 0, "it is as it was");
    stream_free(stream);
    stream = open_stream(&once, 1, 10, LONG_DROP);
    cr_assert_eq(stream_drop_shard(stream, 0, 0, &err), 0);
    cr_assert_eq(stream_drop_shard(stream, 0, 1, &err), EX_DATAERR);
    cr_assert(!stream_next(stream, &piece));
    stream_free(stream);
    length_job_close(&once);
    length_job_close(&forever);
}
