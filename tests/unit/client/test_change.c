/* The ledger changes in front of batches that have arrived and were not handed over: they are void.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "client_helper.h"

#define OLD 0 /* salts of entries of the ledger */
#define NEW 7
#define LATER 50

/* Of the micro-batches of fake_job_small: slot `slot` of `step` is kept back. */
#define BUSY_AT(step, slot)                                                                        \
    {                                                                                              \
        2 * (step) + (slot), 2 * (step) + (slot) + 1, BALLAST_BUSY                                 \
    }
#define BUSY_STEP(step)                                                                            \
    {                                                                                              \
        2 * (step), 2 * (step) + 2, BALLAST_BUSY                                                   \
    }

static const struct fake_behaviour well = { .times = 0 };
static const struct fake_behaviour without_step_1 = { .refused = { BUSY_STEP(1) } };

static struct fake_job job;
static struct fake_daemon *daemon, *other;
static ballast_client *client;
static uint64_t end_step;

/* One that asks three steps ahead. */
static void open_client(const struct fake_behaviour *behaviour)
{
    fake_behave(daemon, *behaviour);
    ballast_options options = options_for(daemon, other);
    options.prefetch = 6;
    options.end_step = end_step;
    client = open_with(&options);
}

static void set_up(void)
{
    job = fake_job_small();
    daemon = start(&job);
    other = NULL;
    end_step = 0;
}

static void tear_down(void)
{
    ballast_close(client);
    fake_stop(daemon);
    fake_stop(other);
}

TestSuite(client_change, .init = set_up, .fini = tear_down);

static void expect_digest(ballast_batch *batch, uint64_t step, uint8_t salt)
{
    uint8_t digest[16];
    fake_digest(&job, step, salt, digest);
    cr_assert_eq(ballast_batch_view(batch)->step, step);
    cr_assert_eq(memcmp(ballast_batch_view(batch)->digest, digest, sizeof digest), 0,
                 "step %d is not that of entries %u", (int)step, salt);
    ballast_batch_free(batch);
}

/* The next steps, from `from` to the one before `until`, are those of this ledger. */
static void expect_steps(uint64_t from, uint64_t until, uint8_t salt)
{
    for (uint64_t step = from; step < until; step++)
        for (uint32_t slot = 0; slot < job.microbatches; slot++) {
            ballast_batch *batch = take_next(client);
            cr_assert_eq(ballast_batch_view(batch)->slot, slot);
            expect_digest(batch, step, salt);
        }
}

static void expect_no_complaint(void)
{
    cr_assert_eq(counters_of(client).dropped, 0, "%s", ballast_warning(client));
    cr_assert_eq(counters_of(client).corrupt, 0);
}

/* Step 0 is the trainer's, steps 2 and 3 are held, step 1 is missing. */
static void hold_steps_behind_1(void)
{
    open_client(&without_step_1);
    expect_steps(0, 1, OLD);
    wait_for_answer(client, daemon, 3, 1);
}

Test(client_change, later_steps_are_asked_for_again)
{
    hold_steps_behind_1();
    fake_change(daemon, 1, NEW);
    fake_behave(daemon, well);
    expect_steps(1, 10, NEW);
    for (uint64_t step = 2; step < 4; step++)
        for (uint32_t slot = 0; slot < 2; slot++)
            cr_assert_eq(times_asked(daemon, step, slot), 2);
    cr_assert_eq(times_asked(daemon, 4, 0), 1);
    expect_no_complaint();
}

Test(client_change, another_slot_of_the_same_step_is_asked_for_again)
{
    open_client(&(struct fake_behaviour){ .refused = { BUSY_AT(1, 0) } });
    expect_steps(0, 1, OLD);
    wait_for_answer(client, daemon, 3, 1);
    fake_change(daemon, 1, NEW);
    fake_behave(daemon, well);
    expect_steps(1, 10, NEW);
    cr_assert_eq(times_asked(daemon, 1, 1), 2);
    expect_no_complaint();
}

/* One entry more, behind what arrives first: nothing has changed up to there. */
Test(client_change, an_entry_that_was_there_voids_nothing)
{
    fake_change(daemon, 2, LATER);
    hold_steps_behind_1();
    fake_behave(daemon, well);
    expect_steps(1, 2, OLD);
    expect_steps(2, 10, LATER);
    for (uint64_t step = 2; step < 10; step++)
        cr_assert_eq(times_asked(daemon, step, 0), 1);
}

/* The old digest was told by HELLO alone. */
Test(client_change, what_hello_told_voids_nothing)
{
    fake_change(daemon, 2, LATER);
    open_client(&(struct fake_behaviour){ .refused = { { 0, 4, BALLAST_BUSY } } });
    wait_for_answer(client, daemon, 2, 1);
    fake_behave(daemon, well);
    expect_steps(0, 2, OLD);
    expect_steps(2, 10, LATER);
    cr_assert_eq(times_asked(daemon, 2, 0), 1);
}

/* It is news when step 1 arrives, but what is held says the same. */
Test(client_change, what_has_the_new_digest_stands)
{
    fake_change(daemon, 1, NEW);
    hold_steps_behind_1();
    fake_behave(daemon, well);
    expect_steps(1, 10, NEW);
    for (uint64_t step = 2; step < 10; step++)
        cr_assert_eq(times_asked(daemon, step, 0), 1);
}

/* What is remembered of it stands as well: another order is noticed as ever. */
Test(client_change, what_stands_is_remembered)
{
    end_step = 3;
    fake_change(daemon, 1, NEW);
    open_client(&(struct fake_behaviour){ .refused = { BUSY_STEP(1), BUSY_AT(2, 1) } });
    expect_steps(0, 1, OLD);
    wait_for_answer(client, daemon, 2, 0);
    fake_behave(daemon, (struct fake_behaviour){ .refused = { BUSY_AT(2, 1) } });
    expect_steps(1, 2, NEW);
    expect_digest(take_next(client), 2, NEW);
    fake_behave(daemon, (struct fake_behaviour){ .digest_salt = 1 });
    ballast_batch *batch = NULL;
    cr_assert_eq(ballast_next(client, PATIENCE_MS, &batch), BALLAST_DIGEST);
}

/* That a later step has it already does not make it known at step 1. */
Test(client_change, news_may_come_from_behind_first)
{
    hold_steps_behind_1();
    fake_change(daemon, 1, NEW);
    ballast_batch *batch = NULL;
    cr_assert_neq(ballast_get(client, 9, 0, 0, &batch), BALLAST_OK);
    wait_for_answer(client, daemon, 9, 0);
    fake_behave(daemon, well);
    expect_steps(1, 10, NEW);
    expect_no_complaint();
}

/* No request behind the first `before` names the job digest of these entries. */
static void expect_not_named(struct fake_daemon *asked, size_t before, uint8_t salt)
{
    static struct fake_request requests[4096];
    uint8_t digest[16];
    fake_digest(&job, UINT64_MAX, salt, digest);
    size_t count = fake_requests(asked, requests, 4096);
    cr_assert_lt(before, count);
    for (size_t i = before; i < count; i++)
        cr_assert_neq(memcmp(requests[i].job_digest, digest, sizeof digest), 0, "request %zu", i);
}

/* The later entry's digest is no longer one of the job's: nothing is asked for with it. */
Test(client_change, a_later_entry_gets_another_digest)
{
    fake_change(daemon, 2, LATER);
    hold_steps_behind_1();
    fake_change(daemon, 1, NEW);
    fake_behave(daemon, well);
    expect_steps(1, 2, NEW);
    struct fake_request first;
    size_t before = fake_requests(daemon, &first, 1);
    expect_steps(2, 10, LATER + NEW);
    expect_not_named(daemon, before, LATER);
    expect_no_complaint();
}

Test(client_change, what_get_waits_for_is_asked_for_again)
{
    hold_steps_behind_1();
    ballast_batch *batch = NULL;
    cr_assert_neq(ballast_get(client, 9, 0, 0, &batch), BALLAST_OK);
    wait_for_answer(client, daemon, 9, 0);
    fake_change(daemon, 1, NEW);
    fake_behave(daemon, well);
    expect_steps(1, 2, NEW);
    expect_digest(take(client, 9, 0), 9, NEW);
    cr_assert_eq(times_asked(daemon, 9, 0), 2);
    expect_no_complaint();
}

/* What could not be had may be what is left out now. */
Test(client_change, a_failure_is_void)
{
    open_client(
        &(struct fake_behaviour){ .refused = { BUSY_STEP(1), { 5, 6, BALLAST_BAD_DATA } } });
    expect_steps(0, 1, OLD);
    wait_for_answer(client, daemon, 3, 1);
    fake_change(daemon, 1, NEW);
    fake_behave(daemon, well);
    expect_steps(1, 10, NEW);
    cr_assert_eq(times_asked(daemon, 2, 1), 2);
}

/* With fewer data, or packed otherwise, they end elsewhere. */
Test(client_change, the_end_of_data_is_learnt_anew)
{
    open_client(&(struct fake_behaviour){ .refused = { BUSY_STEP(1), { 6, 99, BALLAST_END } } });
    expect_steps(0, 1, OLD);
    wait_for_answer(client, daemon, 3, 0);
    fake_change(daemon, 1, NEW);
    fake_behave(daemon, well);
    expect_steps(1, 10, NEW);
    ballast_batch *batch = NULL;
    cr_assert_eq(ballast_next(client, PATIENCE_MS, &batch), BALLAST_END);
}

/* Of what the trainer has had, another digest is no change of the ledger but another order. */
Test(client_change, a_step_that_was_handed_over_does_not_change)
{
    open_client(&(struct fake_behaviour){ .refused = { BUSY_AT(1, 1) } });
    expect_steps(0, 1, OLD);
    expect_digest(take_next(client), 1, OLD);
    fake_change(daemon, 1, NEW);
    fake_behave(daemon, well);
    ballast_batch *batch = NULL;
    cr_assert_eq(ballast_next(client, PATIENCE_MS, &batch), BALLAST_DIGEST);
}

Test(client_change, what_seek_gave_up_may_change)
{
    open_client(&well);
    expect_steps(0, 4, OLD);
    fake_behave(daemon, (struct fake_behaviour){ .batch_status = BALLAST_BUSY });
    fake_change(daemon, 1, NEW);
    cr_assert_eq(ballast_seek(client, 1), BALLAST_OK);
    fake_behave(daemon, well);
    expect_steps(1, 10, NEW);
    expect_no_complaint();
}

/* The former daemon's batches are held, and nothing of them is in the trainer's hands. */
Test(client_change, another_daemon_knows_of_a_change)
{
    other = start(&job);
    fake_change(other, 1, NEW);
    hold_steps_behind_1();
    fake_behave(daemon, (struct fake_behaviour){ .batch_status = BALLAST_DRAINING });
    expect_steps(1, 10, NEW);
    cr_assert_eq(fake_next_step(other), 1);
    expect_no_complaint();
}

/* Held from the head on, so HELLO counts them; the reply tells that they may be void all the same.
 */
Test(client_change, a_change_told_by_hello_voids_what_is_held)
{
    other = start(&job);
    fake_change(daemon, 2, LATER);
    fake_change(other, 2, LATER);
    fake_change(other, 1, NEW);
    open_client(&(struct fake_behaviour){ .refused = { BUSY_STEP(3) } });
    expect_steps(0, 1, OLD);
    while (times_asked(daemon, 3, 0) < 2)
        ballast_ack(client, 0);
    fake_behave(daemon, (struct fake_behaviour){ .batch_status = BALLAST_DRAINING });
    while (fake_hellos(other) == 0 || times_asked(other, 1, 0) == 0)
        ballast_ack(client, 0);
    cr_assert_eq(fake_next_step(other), 3);
    expect_steps(1, 2, NEW);
    expect_steps(2, 10, LATER + NEW);
    expect_not_named(other, 0, LATER);
    expect_no_complaint();
}

/* The step where the trainer begins: HELLO gives it another digest than before. */
Test(client_change, the_first_step_may_change)
{
    other = start(&job);
    fake_change(other, 0, NEW);
    open_client(&(struct fake_behaviour){ .refused = { BUSY_STEP(0) } });
    wait_for_answer(client, daemon, 2, 1);
    fake_behave(daemon, (struct fake_behaviour){ .batch_status = BALLAST_DRAINING });
    expect_steps(0, 10, NEW);
    expect_no_complaint();
}

static void expect_other_ledger_refused(void)
{
    fake_behave(daemon, (struct fake_behaviour){ .batch_status = BALLAST_DRAINING });
    while (counters_of(client).dropped == 0)
        ballast_ack(client, 0);
    cr_assert(strstr(ballast_warning(client), fake_endpoint(other)));
    cr_assert(strstr(ballast_warning(client), "its ledger differs"), "%s", ballast_warning(client));
    fake_behave(daemon, well);
}

Test(client_change, a_first_step_that_was_handed_over_does_not_change)
{
    other = start(&job);
    fake_change(other, 0, NEW);
    open_client(&(struct fake_behaviour){ .refused = { { 1, 99, BALLAST_BUSY } } });
    expect_digest(take_next(client), 0, OLD);
    expect_other_ledger_refused();
    ballast_batch_free(take_next(client));
    expect_steps(1, 10, OLD);
}

/* It lacks what the one before knew of. */
Test(client_change, a_ledger_does_not_shrink)
{
    other = start(&job);
    fake_change(daemon, 0, NEW);
    open_client(&(struct fake_behaviour){ .batch_status = BALLAST_BUSY });
    ballast_batch *batch = NULL;
    while (times_asked(daemon, 0, 0) == 0)
        cr_assert_neq(ballast_next(client, 1, &batch), BALLAST_OK);
    expect_other_ledger_refused();
    expect_steps(0, 10, NEW);
}

Test(client_change, the_first_step_may_change_on_one_connection)
{
    open_client(&(struct fake_behaviour){ .refused = { BUSY_STEP(0) } });
    wait_for_answer(client, daemon, 2, 1);
    fake_change(daemon, 0, NEW);
    fake_behave(daemon, well);
    expect_steps(0, 3, NEW);
    fake_behave(daemon, (struct fake_behaviour){ .batch_status = BALLAST_DRAINING, .times = 1 });
    expect_steps(3, 10, NEW);
    cr_assert_eq(fake_hellos(daemon), 2);
    expect_no_complaint();
}
