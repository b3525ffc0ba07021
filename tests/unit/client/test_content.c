/* What a batch holds: tokens, labels, positions, tables. */
#include <criterion/criterion.h>

#include "client_helper.h"

/* One client of one daemon for the job, as CP rank `cp_rank`. */
struct pair {
    struct fake_daemon *daemon;
    ballast_client *client;
};

static struct pair open_pair(const struct fake_job *job, uint32_t cp_rank)
{
    struct pair pair = { .daemon = start(job) };
    ballast_options options = options_for(pair.daemon, NULL);
    options.cp_rank = cp_rank;
    pair.client = open_with(&options);
    return pair;
}

static void close_pair(struct pair pair)
{
    ballast_close(pair.client);
    fake_stop(pair.daemon);
}

static void expect_row(const int32_t *row, const int32_t *expected, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        cr_assert_eq(row[i], expected[i], "at %u: %d, not %d", i, row[i], expected[i]);
}

/* Two documents of 8 tokens at cp 2, offsets 0, 8, 16: worked out by hand. */
Test(client_content, hand_made_example)
{
    struct fake_job job = fake_job_small();
    job.cp = 2;
    struct pair pair = open_pair(&job, 0);
    ballast_batch *batch = take(pair.client, 3, 1);
    const ballast_view *view = ballast_batch_view(batch);

    /* 3 x 7919 + 1009 + 1 = 24767: token = 767 + 101 x piece + 3 x offset. */
    const int32_t tokens[] = { 767, 770, 785, 788, 868, 871, 886, 889 };
    const int32_t labels[] = { 770, 773, 788, -100, 871, 874, 889, -100 };
    const int32_t positions[] = { 0, 1, 6, 7, 0, 1, 6, 7 };
    cr_assert_eq(view->local_tokens, 8);
    cr_assert_eq(view->padded_tokens, 8);
    expect_row(view->tokens, tokens, 8);
    expect_row(view->labels, labels, 8);
    expect_row(view->positions, positions, 8);
    cr_assert_eq(view->local_loss_tokens, 6);
    ballast_batch_free(batch);
    close_pair(pair);
}

Test(client_content, the_other_rank_of_the_example)
{
    struct fake_job job = fake_job_small();
    job.cp = 2;
    struct pair pair = open_pair(&job, 1);
    ballast_batch *batch = take(pair.client, 3, 1);
    const ballast_view *view = ballast_batch_view(batch);
    const int32_t tokens[] = { 773, 776, 779, 782, 874, 877, 880, 883 };
    const int32_t labels[] = { 776, 779, 782, 785, 877, 880, 883, 886 };
    const int32_t positions[] = { 2, 3, 4, 5, 2, 3, 4, 5 };
    expect_row(view->tokens, tokens, 8);
    expect_row(view->labels, labels, 8);
    expect_row(view->positions, positions, 8);
    cr_assert_eq(view->local_loss_tokens, 8);
    ballast_batch_free(batch);
    close_pair(pair);
}

Test(client_content, tables_and_counts)
{
    struct fake_job job = fake_job_small();
    job.dp = 2;
    job.cp = 2;
    struct fake_daemon *daemon = start(&job);
    ballast_options options = options_for(daemon, NULL);
    options.dp_rank = 1;
    ballast_client *client = open_with(&options);
    ballast_batch *batch = take(client, 4, 1);
    const ballast_view *view = ballast_batch_view(batch);

    cr_assert_eq(view->step, 4);
    cr_assert_eq(view->slot, 1);
    cr_assert_eq(view->microbatch, 3, "dp_rank 1 x 2 micro-batches + slot 1");
    cr_assert_eq(view->cp, 2);
    cr_assert_eq(view->piece_count, 2);
    cr_assert_eq(view->pieces[1].document, 101);
    cr_assert_eq(view->pieces[1].arrived, 1);
    cr_assert_eq(view->pieces[1].length, 8);
    cr_assert_eq(view->pieces[1].ends_document, 1);
    cr_assert_eq(view->cu_seqlens[0], 0);
    cr_assert_eq(view->cu_seqlens[1], 8);
    cr_assert_eq(view->cu_seqlens[2], 16);
    cr_assert_eq(view->rank_chunks[0], 0);
    cr_assert_eq(view->rank_chunks[1], 4);
    cr_assert_eq(view->rank_chunks[2], 8);
    cr_assert_eq(view->chunks[5].piece, 0);
    cr_assert_eq(view->chunks[5].start, 4);
    cr_assert_eq(view->chunks[5].length, 2);
    cr_assert_eq(view->microbatch_tokens, 16);
    cr_assert_eq(view->microbatch_loss_tokens, 14);
    cr_assert_eq(view->step_tokens, 64);
    cr_assert_eq(view->step_loss_tokens, 56);
    cr_assert_eq(view->workload, 1234);
    uint8_t digest[16];
    fake_digest(&job, 4, 0, digest);
    cr_assert_arr_eq(view->digest, digest, 16);
    ballast_batch_free(batch);
    ballast_close(client);
    fake_stop(daemon);
}

/* Positions 0, 0, 0 are three documents, not one: offsets tell, and nothing has a label. */
Test(client_content, documents_of_one_token)
{
    struct fake_job job = fake_job_small();
    job.piece_count = 3;
    for (int i = 0; i < 3; i++)
        job.lengths[i] = 1;
    struct pair pair = open_pair(&job, 0);
    ballast_batch *batch = take_next(pair.client);
    const ballast_view *view = ballast_batch_view(batch);
    cr_assert_eq(view->piece_count, 3);
    cr_assert_eq(view->local_tokens, 3);
    cr_assert_eq(view->local_loss_tokens, 0);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(view->cu_seqlens[i], i);
        cr_assert_eq(view->labels[i], BALLAST_IGNORE_LABEL);
        cr_assert_eq(view->positions[i], 0);
    }
    expect_content(view, &job);
    ballast_batch_free(batch);
    close_pair(pair);
}

/* The first part of a cut document: its last token is followed by the next part's first. */
Test(client_content, a_piece_that_goes_on_keeps_its_last_label)
{
    struct fake_job job = fake_job_small();
    job.continued = 1;
    struct pair pair = open_pair(&job, 0);
    ballast_batch *batch = take_next(pair.client);
    const ballast_view *view = ballast_batch_view(batch);
    cr_assert_eq(view->labels[7], (int32_t)fake_token(&job, 0, 0, 0, 8));
    cr_assert_eq(view->labels[15], BALLAST_IGNORE_LABEL);
    cr_assert_eq(view->pieces[0].ends_document, 0);
    cr_assert_eq(view->pieces[0].offset, 5);
    cr_assert_eq(view->local_loss_tokens, 15);
    cr_assert_eq(view->microbatch_loss_tokens, 15);
    expect_content(view, &job);
    ballast_batch_free(batch);
    close_pair(pair);
}

Test(client_content, an_empty_microbatch)
{
    struct fake_job job = fake_job_small();
    job.piece_count = 0;
    job.cp = 2;
    struct pair pair = open_pair(&job, 1);
    ballast_batch *batch = take_next(pair.client);
    const ballast_view *view = ballast_batch_view(batch);
    cr_assert_eq(view->local_tokens, 0);
    cr_assert_eq(view->padded_tokens, 0);
    cr_assert_eq(view->piece_count, 0);
    cr_assert_eq(view->cu_seqlens[0], 0);
    cr_assert_eq(view->rank_chunks[2], 0);
    cr_assert_eq(view->local_loss_tokens, 0);
    ballast_batch_free(batch);
    close_pair(pair);
}

Test(client_content, padding_has_no_label_whatever_the_ids)
{
    struct fake_job job = fake_job_small();
    job.cp = 4;
    job.lengths[0] = 13;
    job.pad_to_multiple = 16;
    for (uint32_t rank = 0; rank < job.cp; rank++) {
        struct pair pair = open_pair(&job, rank);
        ballast_batch *batch = take_next(pair.client);
        const ballast_view *view = ballast_batch_view(batch);
        cr_assert_eq(view->padded_tokens, 16);
        cr_assert_lt(view->local_tokens, 16);
        expect_content(view, &job);
        ballast_batch_free(batch);
        close_pair(pair);
    }
}

Test(client_content, tokens_of_four_bytes)
{
    const uint32_t vocabularies[] = { 65536, 65537, 1u << 31, 0 };
    for (int i = 0; i < 4; i++) {
        struct fake_job job = fake_job_small();
        job.vocab_size = vocabularies[i] == 1u << 31 ? 0x7fffffff : vocabularies[i];
        job.cp = 2;
        job.lengths[0] = 1001;
        struct pair pair = open_pair(&job, 1);
        ballast_batch *batch = take(pair.client, 9, 1);
        expect_content(ballast_batch_view(batch), &job);
        ballast_batch_free(batch);
        close_pair(pair);
    }
}

Test(client_content, arrays_are_aligned_to_64_bytes)
{
    struct fake_job job = fake_job_small();
    job.lengths[0] = 5;
    struct pair pair = open_pair(&job, 0);
    ballast_batch *batch = take_next(pair.client);
    const ballast_view *view = ballast_batch_view(batch);
    const void *const arrays[] = { view->tokens, view->labels,     view->positions,  view->pieces,
                                   view->chunks, view->cu_seqlens, view->rank_chunks };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        cr_assert_eq((uintptr_t)arrays[i] % 64, 0);
    ballast_batch_free(batch);
    close_pair(pair);
}

Test(client_content, a_batch_outlives_its_client)
{
    struct fake_job job = fake_job_small();
    struct pair pair = open_pair(&job, 0);
    ballast_batch *batch = take_next(pair.client);
    close_pair(pair);
    expect_content(ballast_batch_view(batch), &job);
    ballast_batch_free(batch);
}
