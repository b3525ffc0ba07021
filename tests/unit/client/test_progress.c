/* HELLO says which steps the trainer may have had, after every connect. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "client_helper.h"

/* A client of one rank that asks for one batch ahead, and its daemon. */
struct talk {
    struct fake_job job;
    struct fake_daemon *daemon;
    char endpoint[256];
    ballast_client *client;
};

static struct talk talk_from(uint64_t first_step)
{
    struct talk talk = { .job = fake_job_small() };
    talk.daemon = start(&talk.job);
    snprintf(talk.endpoint, sizeof talk.endpoint, "%s", fake_endpoint(talk.daemon));
    ballast_options options = options_for(talk.daemon, NULL);
    options.first_step = first_step;
    options.prefetch = 1;
    talk.client = open_with(&options);
    return talk;
}

static void end(struct talk *talk)
{
    ballast_close(talk->client);
    fake_stop(talk->daemon);
}

/* Once the answer to this is there, so is every one that was asked for before it. */
static void round_trip(struct talk *talk)
{
    ballast_batch_free(take(talk->client, 0, 0));
}

/* The daemon is killed and started again: what does the client say when it is back? */
static uint64_t next_step_after_restart(struct talk *talk)
{
    fake_stop(talk->daemon);
    talk->daemon = fake_start(&talk->job, talk->endpoint);
    cr_assert_not_null(talk->daemon);
    round_trip(talk);
    cr_assert_eq(fake_hellos(talk->daemon), 1);
    return fake_next_step(talk->daemon);
}

Test(client_progress, at_the_start_it_is_where_the_trainer_begins)
{
    for (uint64_t first_step = 0; first_step < 8; first_step += 7) {
        struct talk talk = talk_from(first_step);
        round_trip(&talk);
        cr_assert_eq(fake_next_step(talk.daemon), first_step);
        end(&talk);
    }
}

Test(client_progress, what_next_handed_over_counts)
{
    struct talk talk = talk_from(2);
    expect_next(talk.client, &talk.job, 2, 0);
    cr_assert_eq(next_step_after_restart(&talk), 3, "one slot of step 2");
    expect_next(talk.client, &talk.job, 2, 1);
    round_trip(&talk);
    cr_assert_eq(next_step_after_restart(&talk), 4, "step 3 is held, for the next call");
    expect_next(talk.client, &talk.job, 3, 0);
    end(&talk);
}

Test(client_progress, what_get_handed_over_counts)
{
    struct talk talk = talk_from(2);
    ballast_batch_free(take(talk.client, 1, 0));
    cr_assert_eq(next_step_after_restart(&talk), 2, "from before the start");
    ballast_batch_free(take(talk.client, 8, 1));
    ballast_batch_free(take(talk.client, 5, 0));
    cr_assert_eq(next_step_after_restart(&talk), 9);
    end(&talk);
}

Test(client_progress, seek_gives_up_what_lies_behind_it)
{
    struct talk talk = talk_from(0);
    ballast_batch_free(take(talk.client, 8, 1));
    cr_assert_eq(ballast_seek(talk.client, 4), BALLAST_OK);
    cr_assert_eq(next_step_after_restart(&talk), 4, "back to a checkpoint");
    cr_assert_eq(ballast_seek(talk.client, 9), BALLAST_OK);
    cr_assert_eq(next_step_after_restart(&talk), 9, "what is left out may have been had elsewhere");
    end(&talk);
}

/* What is held in front of a hole can be handed over at once; what is held behind it cannot, and is
 * asked for again. */
Test(client_progress, what_is_held_behind_a_hole_does_not_count)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *first = start(&job), *second = start(&job);
    fake_behave(first, (struct fake_behaviour){ .refused = { { 3, 4, BALLAST_BUSY } } });
    ballast_options options = options_for(first, second);
    options.prefetch = 6;
    ballast_client *client = open_with(&options);
    expect_next(client, &job, 0, 0);
    while (times_asked(first, 1, 1) < 2) /* so all before the second time is answered */
        ballast_ack(client, 0);
    fake_behave(first, (struct fake_behaviour){ .batch_status = BALLAST_DRAINING });
    while (times_asked(second, 3, 0) == 0)
        ballast_ack(client, 0);
    cr_assert_eq(fake_next_step(second), 2, "up to slot 0 of step 1");
    for (uint64_t i = 1; i < 6; i++)
        cr_assert_eq(times_asked(second, i / 2, i % 2), i >= 3, "micro-batch %d", (int)i);
    ballast_close(client);
    fake_stop(first);
    fake_stop(second);
}

/* A call of ballast_get that timed out: its answer came, and waits for the next call. */
Test(client_progress, what_get_has_not_fetched_does_not_count)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *first = start(&job), *second = start(&job);
    fake_behave(first, (struct fake_behaviour){ .refused = { { 0, 4, BALLAST_BUSY } } });
    ballast_options options = options_for(first, second);
    options.prefetch = 1;
    ballast_client *client = open_with(&options);
    ballast_batch *batch = NULL;
    ballast_job facts;
    cr_assert_eq(ballast_get_job(client, PATIENCE_MS, &facts), BALLAST_OK);
    cr_assert_neq(ballast_get(client, 9, 0, 0, &batch), BALLAST_OK);
    wait_for_answer(client, first, 9, 0);
    fake_behave(first, (struct fake_behaviour){ .batch_status = BALLAST_DRAINING });
    expect_next(client, &job, 0, 0);
    cr_assert_eq(fake_next_step(second), 0);
    ballast_batch_free(take(client, 9, 0));
    cr_assert_eq(times_asked(second, 9, 0), 1);
    ballast_close(client);
    fake_stop(first);
    fake_stop(second);
}

Test(client_progress, another_daemon_is_told_as_well)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *first = start(&job), *second = start(&job);
    ballast_options options = options_for(first, second);
    options.prefetch = 1;
    ballast_client *client = open_with(&options);
    for (uint32_t i = 0; i < 5; i++)
        expect_next(client, &job, i / 2, i % 2);
    fake_stop(first);
    ballast_batch_free(take(client, 0, 0));
    cr_assert_eq(fake_next_step(second), 3);
    ballast_close(client);
    fake_stop(second);
}
