/* Waiting: for a daemon, for a plan, for one that is busy. Nothing is measured by the clock. */
#include <criterion/criterion.h>
#include <string.h>

#include "client_helper.h"

/* Nobody listens on port 1 of the loopback. */
#define NOBODY "tcp://127.0.0.1:1"

Test(client_deadlines, nobody_answers)
{
    ballast_options options = BALLAST_OPTIONS_INIT;
    options.endpoints = NOBODY;
    ballast_client *client = open_with(&options);
    ballast_batch *batch = NULL;
    ballast_job job;
    cr_assert_eq(ballast_next(client, 0, &batch), BALLAST_TIMEOUT);
    cr_assert_eq(ballast_get(client, 0, 0, 0, &batch), BALLAST_TIMEOUT);
    cr_assert_eq(ballast_get_job(client, 100, &job), BALLAST_TIMEOUT);
    cr_assert_eq(ballast_next(client, 100, &batch), BALLAST_TIMEOUT);
    cr_assert(strstr(ballast_message(client), NOBODY), "%s", ballast_message(client));
    cr_assert_null(batch);
    ballast_close(client);
}

Test(client_deadlines, negative_timeouts_are_invalid)
{
    ballast_options options = BALLAST_OPTIONS_INIT;
    options.endpoints = NOBODY;
    ballast_client *client = open_with(&options);
    ballast_batch *batch = NULL;
    ballast_job job;
    cr_assert_eq(ballast_next(client, -1, &batch), BALLAST_INVALID);
    cr_assert_eq(ballast_get(client, 0, 0, -1, &batch), BALLAST_INVALID);
    cr_assert_eq(ballast_get_job(client, -1, &job), BALLAST_INVALID);
    cr_assert_eq(ballast_seek(client, UINT64_MAX), BALLAST_INVALID);
    ballast_close(client);
}

/* Timeout 0 polls: something else moves the data, asking often enough brings it. */
Test(client_deadlines, polling_gets_there)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    ballast_options options = options_for(daemon, NULL);
    ballast_client *client = open_with(&options);
    ballast_batch *batch = NULL;
    ballast_status status;
    do
        status = ballast_next(client, 0, &batch);
    while (status == BALLAST_TIMEOUT);
    cr_assert_eq(status, BALLAST_OK);
    expect_content(ballast_batch_view(batch), &job);
    ballast_batch_free(batch);
    cr_assert_eq(counters_of(client).wait_ns, 0);
    ballast_close(client);
    fake_stop(daemon);
}

/* It sends as fast as it can, and never what was asked for. */
Test(client_deadlines, an_endless_talker_keeps_nobody)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    fake_behave(daemon, (struct fake_behaviour){ .chatter = true });
    ballast_options options = options_for(daemon, NULL);
    ballast_client *client = open_with(&options);
    ballast_batch *batch = NULL;
    for (int i = 0; i < 3; i++)
        cr_assert_eq(ballast_next(client, 200, &batch), BALLAST_TIMEOUT);
    cr_assert_gt(counters_of(client).bytes, 1000, "it did talk");
    ballast_close(client);
    fake_stop(daemon);
}

/* Planning takes many times retry_ms: the daemon says so in time, and is not left for it. */
Test(client_deadlines, a_long_wait_for_planning_is_no_silence)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *slow = start(&job), *other = start(&job);
    fake_behave(slow, (struct fake_behaviour){ .hold = true });
    ballast_options options = options_for(slow, other);
    options.prefetch = 1;
    options.retry_ms = 1000;
    ballast_client *client = open_with(&options);
    ballast_batch *batch = NULL;
    cr_assert_eq(ballast_next(client, 2500, &batch), BALLAST_TIMEOUT);
    cr_assert_geq(counters_of(client).retries, 3, "asked again after every TIMEOUT");
    cr_assert_eq(counters_of(client).failovers, 0);
    cr_assert_eq(fake_hellos(slow), 1);
    cr_assert_eq(fake_hellos(other), 0);
    fake_behave(slow, (struct fake_behaviour){ .hold = false });
    expect_next(client, &job, 0, 0);
    cr_assert_eq(counters_of(client).failovers, 0);
    ballast_close(client);
    fake_stop(slow);
    fake_stop(other);
}

Test(client_deadlines, after_timeout_the_same_batch_comes)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    fake_behave(daemon, (struct fake_behaviour){ .hold = true });
    ballast_options options = options_for(daemon, NULL);
    options.retry_ms = SHORT_RETRY_MS;
    ballast_client *client = open_with(&options);
    ballast_batch *batch = NULL;
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(ballast_next(client, 20, &batch), BALLAST_TIMEOUT);
        cr_assert_eq(ballast_get(client, 7, 1, 20, &batch), BALLAST_TIMEOUT);
    }
    fake_behave(daemon, (struct fake_behaviour){ .hold = false });
    expect_next(client, &job, 0, 0);
    batch = take(client, 7, 1);
    expect_content(ballast_batch_view(batch), &job);
    ballast_batch_free(batch);
    expect_next(client, &job, 0, 1);
    ballast_close(client);
    fake_stop(daemon);
}

Test(client_deadlines, a_busy_daemon_is_asked_again)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    fake_behave(daemon, (struct fake_behaviour){ .batch_status = BALLAST_BUSY, .times = 9 });
    ballast_options options = options_for(daemon, NULL);
    ballast_client *client = open_with(&options);
    for (uint64_t step = 0; step < 3; step++)
        for (uint32_t slot = 0; slot < 2; slot++)
            expect_next(client, &job, step, slot);
    cr_assert_geq(counters_of(client).retries, 9);
    cr_assert_eq(counters_of(client).failovers, 0);
    ballast_close(client);
    fake_stop(daemon);
}

/* Where the reason is known, it is told instead of TIMEOUT. */
Test(client_deadlines, reasons_instead_of_timeout)
{
    const uint32_t statuses[] = { BALLAST_BUSY, BALLAST_DRAINING, BALLAST_IO_ERROR };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        struct fake_job job = fake_job_small();
        struct fake_daemon *daemon = start(&job);
        fake_behave(daemon,
                    (struct fake_behaviour){ .hello_status = 0, .batch_status = statuses[i] });
        ballast_options options = options_for(daemon, NULL);
        ballast_client *client = open_with(&options);
        ballast_batch *batch = NULL;
        ballast_status status = BALLAST_TIMEOUT;
        for (int tries = 0; tries < 100 && status == BALLAST_TIMEOUT; tries++)
            status = ballast_next(client, SHORT_RETRY_MS, &batch);
        cr_assert_eq(status, statuses[i], "%d: %s", status, ballast_message(client));
        fake_behave(daemon, (struct fake_behaviour){ .batch_status = 0 });
        expect_next(client, &job, 0, 0);
        ballast_close(client);
        fake_stop(daemon);
    }
}

/* What can never succeed is told with the daemon's own words; asking again asks the daemon again.
 */
Test(client_deadlines, damage_at_the_daemon_is_told)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    fake_behave(daemon, (struct fake_behaviour){ .batch_status = BALLAST_BAD_DATA });
    ballast_options options = options_for(daemon, NULL);
    ballast_client *client = open_with(&options);
    ballast_batch *batch = NULL;
    cr_assert_eq(ballast_next(client, PATIENCE_MS, &batch), BALLAST_BAD_DATA);
    cr_assert(strstr(ballast_message(client), "so the test wants it"));
    cr_assert_eq(ballast_get(client, 3, 0, PATIENCE_MS, &batch), BALLAST_BAD_DATA);
    fake_behave(daemon, (struct fake_behaviour){ .batch_status = 0 });
    /* The slots asked ahead were refused, too, but nobody was told: they are asked for anew. */
    for (uint32_t slot = 0; slot < 2; slot++)
        expect_next(client, &job, 0, slot);
    ballast_close(client);
    fake_stop(daemon);
}
