/* The library with every allocation of the caller's thread failing once: a status, and then the
 * same micro-batches as ever. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "client_helper.h"
#include "support/fault_sweep.h"

#define TRIES 1000

static bool is_trouble(ballast_status status)
{
    return status == BALLAST_NO_MEMORY || status == BALLAST_TIMEOUT || status == BALLAST_SYSTEM ||
           status == BALLAST_BUSY;
}

static ballast_batch *next_at_last(ballast_client *client)
{
    for (int i = 0; i < TRIES; i++) {
        ballast_batch *batch = NULL;
        ballast_status status = ballast_next(client, PATIENCE_MS, &batch);
        if (status == BALLAST_OK)
            return batch;
        cr_assert(is_trouble(status), "%d: %s", status, ballast_message(client));
        cr_assert_neq(ballast_message(client)[0], '\0');
    }
    cr_assert_fail("no batch after %d tries", TRIES);
    return NULL;
}

static void expect_all(ballast_client *client, const struct fake_job *job)
{
    for (uint64_t step = 0; step < 3; step++)
        for (uint32_t slot = 0; slot < job->microbatches; slot++) {
            ballast_batch *batch = next_at_last(client);
            const ballast_view *view = ballast_batch_view(batch);
            cr_assert_eq(view->step, step);
            cr_assert_eq(view->slot, slot);
            expect_content(view, job);
            ballast_batch_free(batch);
        }
    ballast_ack(client, 2);
}

static bool sweep_one(const ballast_options *options, const struct fake_job *job,
                      unsigned long long at)
{
    ballast_client *client = NULL;
    fault_sweep_arm(at);
    ballast_status status = ballast_open(options, &client);
    if (status == BALLAST_OK)
        expect_all(client, job);
    else
        cr_assert(is_trouble(status) && !client, "allocation %llu: %d", at, status);
    ballast_close(client);
    return fault_sweep_disarm();
}

static void sweep(const struct ballast_allocator *allocator)
{
    if (!fault_sweep_possible())
        cr_skip_test("the fault shim is not preloaded");
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    ballast_options options = options_for(daemon, NULL);
    options.allocator = allocator;
    options.job = job.name;
    options.retry_ms = SHORT_RETRY_MS;
    unsigned long long at = 1;
    while (sweep_one(&options, &job, at))
        at++;
    cr_log_info("%llu allocations failed in turn", at - 1);
    cr_assert_gt(at, 10);
    fake_stop(daemon);
}

Test(allocation, with_memory_of_its_own)
{
    sweep(NULL);
}

static void *allocate(void *context, size_t bytes)
{
    (void)context;
    return aligned_alloc(64, bytes);
}

static void release(void *context, void *memory)
{
    (void)context;
    free(memory);
}

Test(allocation, with_the_callers_allocator)
{
    sweep(&(struct ballast_allocator){ allocate, release, NULL });
}
