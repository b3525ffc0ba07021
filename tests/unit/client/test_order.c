/* The digest of the data order: expected from a checkpoint, and agreed on by all daemons. */
#include <criterion/criterion.h>
#include <string.h>

#include "client_helper.h"

Test(client_order, the_expected_digest_lets_pass)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    for (uint64_t first_step = 0; first_step < 8; first_step += 7) {
        uint8_t expected[16];
        fake_digest(&job, first_step - 1, 0, expected);
        ballast_options options = options_for(daemon, NULL);
        options.first_step = first_step;
        options.expected_digest = expected;
        ballast_client *client = open_with(&options);
        expect_next(client, &job, first_step, 0);
        expect_next(client, &job, first_step, 1);
        ballast_close(client);
    }
    struct fake_request requests[64];
    size_t count = fake_requests(daemon, requests, 64), checks = 0;
    for (size_t i = 0; i < count; i++)
        checks += requests[i].parts == 0 && requests[i].step == 6;
    cr_assert_eq(checks, 1);
    fake_stop(daemon);
}

Test(client_order, another_digest_is_refused_loudly)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    /* At step 0, in the middle, and with a checkpoint from beyond the end. */
    const uint64_t first_steps[] = { 0, 7, 12 };
    for (int i = 0; i < 3; i++) {
        const uint8_t expected[16] = { 1, 2, 3 };
        ballast_options options = options_for(daemon, NULL);
        options.first_step = first_steps[i];
        options.expected_digest = expected;
        ballast_client *client = open_with(&options);
        ballast_batch *batch = NULL;
        cr_assert_eq(ballast_next(client, PATIENCE_MS, &batch), BALLAST_DIGEST);
        cr_assert_eq(ballast_get(client, 0, 0, 0, &batch), BALLAST_DIGEST, "for ever");
        cr_assert_null(batch);
        cr_assert(strstr(ballast_message(client), "digest"));
        ballast_close(client);
    }
    fake_stop(daemon);
}

/* A job digest that agrees and plans that do not: a bug somewhere, never to be trained on. */
Test(client_order, daemons_that_disagree_are_refused)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    ballast_options options = options_for(daemon, NULL);
    ballast_client *client = open_with(&options);
    ballast_batch_free(take(client, 4, 0));
    fake_behave(daemon, (struct fake_behaviour){ .digest_salt = 1 });
    ballast_batch *batch = NULL;
    cr_assert_eq(ballast_get(client, 4, 1, PATIENCE_MS, &batch), BALLAST_DIGEST);
    cr_assert_null(batch);
    ballast_close(client);
    fake_stop(daemon);
}

/* What the trainer has stored decides which of two daemons is the right one. */
Test(client_order, the_daemon_of_the_expected_digest_is_found)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *wrong = start(&job), *right = start(&job);
    fake_behave(wrong, (struct fake_behaviour){ .digest_salt = 1 });
    uint8_t expected[16];
    fake_digest(&job, 4, 0, expected);
    ballast_options options = options_for(wrong, right);
    options.first_step = 5;
    options.expected_digest = expected;
    ballast_client *client = open_with(&options);
    expect_next(client, &job, 5, 0);
    cr_assert_eq(counters_of(client).dropped, 1);
    cr_assert(strstr(ballast_warning(client), "digest of step 4"));
    ballast_close(client);
    fake_stop(wrong);
    fake_stop(right);
}

Test(client_order, the_digest_cannot_be_had)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    fake_behave(daemon, (struct fake_behaviour){ .batch_status = BALLAST_BAD_DATA, .times = 2 });
    uint8_t expected[16];
    fake_digest(&job, 4, 0, expected);
    ballast_options options = options_for(daemon, NULL);
    options.first_step = 5;
    options.expected_digest = expected;
    ballast_client *client = open_with(&options);
    ballast_batch *batch = NULL;
    ballast_job facts;
    cr_assert_eq(ballast_next(client, PATIENCE_MS, &batch), BALLAST_BAD_DATA);
    cr_assert_eq(ballast_get_job(client, PATIENCE_MS, &facts), BALLAST_BAD_DATA, "asked again");
    expect_next(client, &job, 5, 0);
    ballast_close(client);
    fake_stop(daemon);
}

/* One of two changes its mind in the middle of a step: what was delivered decides, and the job goes
 * on with the other. */
Test(client_order, a_replica_that_changes_its_mind_is_dropped)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *first = start(&job), *second = start(&job);
    ballast_options options = options_for(first, second);
    options.prefetch = 1;
    ballast_client *client = open_with(&options);
    ballast_batch_free(take(client, 4, 0));
    fake_behave(first, (struct fake_behaviour){ .digest_salt = 1 });
    ballast_batch *batch = take(client, 4, 1);
    expect_content(ballast_batch_view(batch), &job);
    ballast_batch_free(batch);
    expect_next(client, &job, 0, 0);
    cr_assert_eq(counters_of(client).dropped, 1);
    cr_assert(strstr(ballast_warning(client), fake_endpoint(first)));
    cr_assert(strstr(ballast_warning(client), "disagree"));
    ballast_close(client);
    fake_stop(first);
    fake_stop(second);
}
