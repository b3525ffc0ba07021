/* Every reply is taken for an enemy's: none of these may be delivered, or do any harm. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "client_helper.h"

static struct fake_job hostile_job(void)
{
    struct fake_job job = fake_job_small();
    job.cp = 2;
    return job;
}

ParameterizedTestParameters(client_hostile, damaged_everywhere)
{
    static int damages[FAKE_DAMAGES - 1];
    for (int i = 0; i < FAKE_DAMAGES - 1; i++)
        damages[i] = i + 1;
    return cr_make_param_array(int, damages, FAKE_DAMAGES - 1);
}

ParameterizedTest(int *damage, client_hostile, damaged_everywhere)
{
    struct fake_job job = hostile_job();
    struct fake_daemon *daemon = start(&job);
    fake_behave(daemon, (struct fake_behaviour){ .damage = (enum fake_damage) * damage });
    ballast_options options = options_for(daemon, NULL);
    ballast_client *client = open_with(&options);
    ballast_batch *batch = NULL;
    ballast_status status = ballast_next(client, PATIENCE_MS, &batch);
    cr_assert_eq(status, BALLAST_CORRUPT, "damage %d: %d, %s", *damage, status,
                 ballast_message(client));
    cr_assert_null(batch);
    cr_assert_geq(counters_of(client).corrupt, 2);
    fake_behave(daemon, (struct fake_behaviour){ .damage = FAKE_WHOLE });
    expect_next(client, &job, 0, 0);
    expect_next(client, &job, 0, 1);
    ballast_close(client);
    fake_stop(daemon);
}

Test(client_hostile, the_next_endpoint_serves_it_whole)
{
    struct fake_job job = hostile_job();
    struct fake_daemon *first = start(&job), *second = start(&job);
    fake_behave(first, (struct fake_behaviour){ .damage = FAKE_BAD_CHECKSUM });
    ballast_options options = options_for(first, second);
    ballast_client *client = open_with(&options);
    for (uint64_t step = 0; step < job.steps; step++)
        for (uint32_t slot = 0; slot < job.microbatches; slot++)
            expect_next(client, &job, step, slot);
    cr_assert_eq(counters_of(client).failovers, 1);
    cr_assert_eq(counters_of(client).corrupt, 1);
    ballast_close(client);
    fake_stop(first);
    fake_stop(second);
}

/* One bad reply from the only daemon there is: asked again, and forgotten. */
Test(client_hostile, a_single_flaw_is_survived)
{
    struct fake_job job = hostile_job();
    struct fake_daemon *daemon = start(&job);
    fake_behave(daemon, (struct fake_behaviour){ .damage = FAKE_BAD_CHECKSUM, .times = 1 });
    ballast_options options = options_for(daemon, NULL);
    ballast_client *client = open_with(&options);
    expect_next(client, &job, 0, 0);
    expect_next(client, &job, 0, 1);
    cr_assert_eq(counters_of(client).corrupt, 1);
    ballast_close(client);
    fake_stop(daemon);
}

/* A HELLO that is refused for good ends the client, with the daemon's status. */
Test(client_hostile, a_refused_hello)
{
    struct fake_job job = hostile_job();
    struct fake_daemon *daemon = start(&job);
    fake_behave(daemon, (struct fake_behaviour){ .hello_status = BALLAST_BAD_REQUEST });
    ballast_options options = options_for(daemon, NULL);
    ballast_client *client = open_with(&options);
    ballast_job facts;
    cr_assert_eq(ballast_get_job(client, PATIENCE_MS, &facts), BALLAST_BAD_REQUEST);
    ballast_close(client);
    fake_stop(daemon);
}

/* A status of a later protocol: an error, told by its number, not retried. */
Test(client_hostile, a_status_of_the_future)
{
    struct fake_job job = hostile_job();
    struct fake_daemon *daemon = start(&job);
    fake_behave(daemon, (struct fake_behaviour){ .batch_status = 77, .times = 1 });
    ballast_options options = options_for(daemon, NULL);
    options.prefetch = 1;
    ballast_client *client = open_with(&options);
    ballast_batch *batch = NULL;
    cr_assert_eq((int)ballast_next(client, PATIENCE_MS, &batch), 77);
    expect_next(client, &job, 0, 0);
    cr_assert_eq(counters_of(client).corrupt, 0);
    ballast_close(client);
    fake_stop(daemon);
}
