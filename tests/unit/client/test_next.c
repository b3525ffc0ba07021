/* The order of ballast_next, prefetching, ballast_get, ballast_seek, the end, the allocator. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "client_helper.h"

Test(client_next, every_slot_of_every_step_then_end)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    ballast_options options = options_for(daemon, NULL);
    ballast_client *client = open_with(&options);
    for (uint64_t step = 0; step < job.steps; step++)
        for (uint32_t slot = 0; slot < job.microbatches; slot++)
            expect_next(client, &job, step, slot);
    ballast_batch *batch = NULL;
    for (int i = 0; i < 3; i++)
        cr_assert_eq(ballast_next(client, PATIENCE_MS, &batch), BALLAST_END);
    cr_assert_null(batch);
    cr_assert_str_eq(ballast_message(client), "end of data: the job has no step 10");
    cr_assert_eq(ballast_get(client, 99, 0, PATIENCE_MS, &batch), BALLAST_END);
    cr_assert_str_eq(ballast_message(client), "end of data: the job has no step 99");
    cr_assert_eq(counters_of(client).batches, 20);
    cr_assert_eq(counters_of(client).failovers, 0);
    cr_assert_eq(counters_of(client).corrupt, 0);
    ballast_close(client);
    fake_stop(daemon);
}

/* The daemon must see requests for later micro-batches before the first one is consumed. */
Test(client_next, asks_ahead_across_slots_and_steps)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    ballast_options options = options_for(daemon, NULL);
    options.prefetch = 5;
    options.first_step = 2;
    ballast_client *client = open_with(&options);
    expect_next(client, &job, 2, 0);
    cr_assert(fake_wait_requests(daemon, 6));
    struct fake_request requests[6];
    cr_assert_eq(fake_requests(daemon, requests, 6), 6, "5 in flight and 1 delivered");
    for (uint32_t i = 0; i < 6; i++) {
        cr_assert_eq(requests[i].step, 2 + i / 2);
        cr_assert_eq(requests[i].microbatch, i % 2);
        cr_assert_eq(requests[i].parts, 7);
        cr_assert_gt(requests[i].deadline_ms, 0);
        cr_assert_leq(requests[i].deadline_ms, LONG_RETRY_MS / 2);
    }
    ballast_close(client);
    fake_stop(daemon);
}

/* Nothing is under way any more when the trainer stops, so nothing is thrown away. */
Test(client_next, ends_where_the_trainer_does)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    ballast_options options = options_for(daemon, NULL);
    options.prefetch = 16;
    options.end_step = 3;
    ballast_client *client = open_with(&options);
    for (uint32_t i = 0; i < 6; i++)
        expect_next(client, &job, i / 2, i % 2);
    ballast_batch *batch = NULL;
    for (int i = 0; i < 2; i++)
        cr_assert_eq(ballast_next(client, PATIENCE_MS, &batch), BALLAST_END);
    cr_assert(strstr(ballast_message(client), "end_step"), "%s", ballast_message(client));
    struct fake_request requests[7];
    cr_assert_eq(fake_requests(daemon, requests, 7), 6);
    cr_assert_eq(ballast_get(client, 4, 0, PATIENCE_MS, &batch), BALLAST_OK, "asked for by name");
    ballast_batch_free(batch);
    ballast_close(client);
    fake_stop(daemon);
}

Test(client_next, does_not_ask_beyond_the_end_again)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    ballast_options options = options_for(daemon, NULL);
    options.prefetch = 4;
    ballast_client *client = open_with(&options);
    ballast_batch *batch = NULL;
    while (ballast_next(client, PATIENCE_MS, &batch) == BALLAST_OK)
        ballast_batch_free(batch);
    /* Requests arrive in order: once this one is answered, all before it have been counted. */
    ballast_batch_free(take(client, 0, 0));
    struct fake_request requests[64];
    size_t count = fake_requests(daemon, requests, 64);
    cr_assert_leq(count, 20 + 4 + 1, "20 micro-batches, at most prefetch beyond, and this one");
    for (int i = 0; i < 5; i++)
        cr_assert_eq(ballast_next(client, 0, &batch), BALLAST_END);
    ballast_batch_free(take(client, 0, 0));
    cr_assert_eq(fake_requests(daemon, requests, 64), count + 1);
    ballast_close(client);
    fake_stop(daemon);
}

Test(client_next, seek_goes_back_and_forth_and_past_the_end)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    ballast_options options = options_for(daemon, NULL);
    ballast_client *client = open_with(&options);
    expect_next(client, &job, 0, 0);
    expect_next(client, &job, 0, 1);
    cr_assert_eq(ballast_seek(client, 7), BALLAST_OK);
    expect_next(client, &job, 7, 0);
    cr_assert_eq(ballast_seek(client, 10), BALLAST_OK);
    ballast_batch *batch = NULL;
    cr_assert_eq(ballast_next(client, PATIENCE_MS, &batch), BALLAST_END);
    cr_assert_eq(ballast_seek(client, 0), BALLAST_OK);
    expect_next(client, &job, 0, 0);
    expect_next(client, &job, 0, 1);
    expect_next(client, &job, 1, 0);
    ballast_close(client);
    fake_stop(daemon);
}

Test(client_next, get_does_not_move_next)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    ballast_options options = options_for(daemon, NULL);
    ballast_client *client = open_with(&options);
    expect_next(client, &job, 0, 0);
    ballast_batch *batch = take(client, 9, 1);
    cr_assert_eq(ballast_batch_view(batch)->step, 9);
    expect_content(ballast_batch_view(batch), &job);
    ballast_batch_free(batch);
    expect_next(client, &job, 0, 1);
    cr_assert_eq(ballast_get(client, 10, 0, PATIENCE_MS, &batch), BALLAST_END);
    cr_assert_eq(ballast_get(client, 0, 2, PATIENCE_MS, &batch), BALLAST_OUT_OF_RANGE);
    expect_next(client, &job, 1, 0);
    ballast_close(client);
    fake_stop(daemon);
}

Test(client_next, get_alone_asks_for_nothing_else)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    ballast_options options = options_for(daemon, NULL);
    ballast_client *client = open_with(&options);
    ballast_batch_free(take(client, 5, 0));
    ballast_batch_free(take(client, 4, 0));
    struct fake_request requests[4];
    cr_assert_eq(fake_requests(daemon, requests, 4), 2);
    cr_assert_eq(requests[0].step, 5);
    cr_assert_eq(requests[1].step, 4);
    ballast_close(client);
    fake_stop(daemon);
}

Test(client_next, facts_of_the_job)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    ballast_options options = options_for(daemon, NULL);
    options.job = "fake";
    ballast_client *client = open_with(&options);
    ballast_job facts;
    cr_assert_eq(ballast_get_job(client, PATIENCE_MS, &facts), BALLAST_OK);
    cr_assert_str_eq(facts.name, "fake");
    cr_assert_str_eq(facts.server, "fake 1");
    cr_assert_eq(facts.microbatches, 2);
    cr_assert_eq(facts.vocab_size, 1000);
    cr_assert_eq(facts.seed, 42);
    fake_stop(daemon);
    cr_assert_eq(ballast_get_job(client, 0, &facts), BALLAST_OK, "known by now");
    ballast_close(client);
}

Test(client_next, acks_reach_the_daemon)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    ballast_options options = options_for(daemon, NULL);
    ballast_client *client = open_with(&options);
    expect_next(client, &job, 0, 0);
    expect_next(client, &job, 0, 1);
    cr_assert_eq(ballast_ack(client, 0), BALLAST_OK);
    uint64_t step = 99;
    cr_assert(fake_wait_acks(daemon, 1, &step));
    cr_assert_eq(step, 0);
    ballast_close(client);
    fake_stop(daemon);
}

/* An answer that nobody asked for, and every answer twice: each batch still comes once. */
Test(client_next, duplicates_and_strangers_are_dropped)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    fake_behave(daemon, (struct fake_behaviour){ .twice = true });
    ballast_options options = options_for(daemon, NULL);
    ballast_client *client = open_with(&options);
    for (uint64_t step = 0; step < job.steps; step++)
        for (uint32_t slot = 0; slot < job.microbatches; slot++)
            expect_next(client, &job, step, slot);
    cr_assert_eq(counters_of(client).corrupt, 0);
    cr_assert_eq(counters_of(client).retries, 0);
    ballast_close(client);
    fake_stop(daemon);
}

/* Memory that is counted, and refused or misaligned when told. */
struct pool {
    int refuse;
    bool misalign;
    int live;
};

static void *pool_allocate(void *context, size_t bytes)
{
    struct pool *pool = context;
    if (pool->refuse > 0) {
        pool->refuse--;
        return NULL;
    }
    unsigned char *memory = aligned_alloc(64, (bytes + 127) / 64 * 64);
    cr_assert_not_null(memory);
    pool->live++;
    return pool->misalign ? memory + 8 : memory;
}

static void pool_release(void *context, void *memory)
{
    struct pool *pool = context;
    cr_assert_not_null(memory);
    pool->live--;
    free((void *)((uintptr_t)memory & ~(uintptr_t)63));
}

Test(client_next, the_callers_allocator_holds_every_batch)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    struct pool pool = { .refuse = 0 };
    ballast_allocator allocator = { pool_allocate, pool_release, &pool };
    ballast_options options = options_for(daemon, NULL);
    options.allocator = &allocator;
    ballast_client *client = open_with(&options);
    ballast_batch *first = take_next(client), *second = take_next(client);
    cr_assert_eq(pool.live, 2);
    ballast_close(client);
    expect_content(ballast_batch_view(second), &job);
    ballast_batch_free(first);
    ballast_batch_free(second);
    cr_assert_eq(pool.live, 0);
    fake_stop(daemon);
}

Test(client_next, no_memory_loses_nothing)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    struct pool pool = { .refuse = 0 };
    ballast_allocator allocator = { pool_allocate, pool_release, &pool };
    ballast_options options = options_for(daemon, NULL);
    options.allocator = &allocator;
    ballast_client *client = open_with(&options);
    expect_next(client, &job, 0, 0);
    pool.refuse = 2;
    ballast_batch *batch = NULL;
    cr_assert_eq(ballast_next(client, PATIENCE_MS, &batch), BALLAST_NO_MEMORY);
    cr_assert_eq(ballast_next(client, PATIENCE_MS, &batch), BALLAST_NO_MEMORY);
    cr_assert_null(batch);
    expect_next(client, &job, 0, 1);
    pool.refuse = 1;
    cr_assert_eq(ballast_get(client, 5, 0, PATIENCE_MS, &batch), BALLAST_NO_MEMORY);
    ballast_batch_free(take(client, 5, 0));
    expect_next(client, &job, 1, 0);
    cr_assert_eq(pool.live, 0);
    ballast_close(client);
    fake_stop(daemon);
}

Test(client_next, misaligned_memory_is_refused)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    struct pool pool = { .misalign = true };
    ballast_allocator allocator = { pool_allocate, pool_release, &pool };
    ballast_options options = options_for(daemon, NULL);
    options.allocator = &allocator;
    ballast_client *client = open_with(&options);
    ballast_batch *batch = NULL;
    cr_assert_eq(ballast_next(client, PATIENCE_MS, &batch), BALLAST_INVALID);
    cr_assert_eq(pool.live, 0);
    ballast_close(client);
    fake_stop(daemon);
}
