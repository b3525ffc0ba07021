/* Several endpoints: dead, silent, draining, restarted, of another job. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client_helper.h"

/* Takes all micro-batches from (step, slot) on: every one once, in order, then END. */
static void expect_rest(ballast_client *client, const struct fake_job *job, uint64_t step,
                        uint32_t slot)
{
    for (; step < job->steps; step++, slot = 0)
        for (; slot < job->microbatches; slot++)
            expect_next(client, job, step, slot);
    ballast_batch *batch = NULL;
    cr_assert_eq(ballast_next(client, PATIENCE_MS, &batch), BALLAST_END);
}

Test(client_failover, a_dead_endpoint_is_passed_over)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    char endpoints[300];
    snprintf(endpoints, sizeof endpoints, "tcp://127.0.0.1:1, %s", fake_endpoint(daemon));
    ballast_options options = BALLAST_OPTIONS_INIT;
    options.endpoints = endpoints;
    ballast_client *client = open_with(&options);
    expect_rest(client, &job, 0, 0);
    cr_assert_eq(counters_of(client).failovers, 1);
    ballast_close(client);
    fake_stop(daemon);
}

Test(client_failover, a_daemon_dies_and_another_goes_on)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *first = start(&job), *second = start(&job);
    ballast_options options = options_for(first, second);
    ballast_client *client = open_with(&options);
    for (uint64_t step = 0; step < 3; step++)
        for (uint32_t slot = 0; slot < 2; slot++)
            expect_next(client, &job, step, slot);
    fake_stop(first);
    expect_rest(client, &job, 3, 0);
    cr_assert_eq(counters_of(client).failovers, 1);
    ballast_close(client);
    fake_stop(second);
}

/* Connected, alive as far as TCP can tell, but it never answers. */
Test(client_failover, silence_leads_to_the_next)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *first = start(&job), *second = start(&job);
    ballast_options options = options_for(first, second);
    options.retry_ms = SHORT_RETRY_MS;
    ballast_client *client = open_with(&options);
    expect_next(client, &job, 0, 0);
    fake_behave(first, (struct fake_behaviour){ .ignore_batch = true, .ignore_hello = true });
    expect_rest(client, &job, 0, 1);
    cr_assert_geq(counters_of(client).failovers, 1);
    cr_assert_geq(counters_of(client).retries, 1);
    ballast_close(client);
    fake_stop(first);
    fake_stop(second);
}

/* It has answered something since, but not since it should have answered this: that is no sign of
 * life, and it is not asked twice. */
Test(client_failover, an_earlier_answer_does_not_hide_silence)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *first = start(&job), *second = start(&job);
    fake_behave(first, (struct fake_behaviour){ .ignore_batch = true, .times = 1 });
    ballast_options options = options_for(first, second);
    options.prefetch = 1;
    options.retry_ms = 4000; /* all up to the silence is over in half of that */
    ballast_client *client = open_with(&options);
    ballast_batch *batch = NULL;
    while (counters_of(client).requests == 0)
        cr_assert_eq(ballast_next(client, 1, &batch), BALLAST_TIMEOUT);
    cr_assert_eq(ballast_next(client, 200, &batch), BALLAST_TIMEOUT);
    ballast_batch_free(take(client, 3, 0));
    fake_behave(first, (struct fake_behaviour){ .ignore_batch = true, .ignore_hello = true });
    expect_next(client, &job, 0, 0);
    struct fake_request requests[8];
    size_t count = fake_requests(first, requests, 8), asked = 0;
    for (size_t i = 0; i < count && i < 8; i++)
        asked += requests[i].step == 0 && requests[i].parts != 0;
    cr_assert_eq(asked, 1);
    ballast_close(client);
    fake_stop(first);
    fake_stop(second);
}

Test(client_failover, no_answer_to_hello)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *first = start(&job), *second = start(&job);
    fake_behave(first, (struct fake_behaviour){ .ignore_hello = true });
    ballast_options options = options_for(first, second);
    options.retry_ms = SHORT_RETRY_MS;
    ballast_client *client = open_with(&options);
    expect_rest(client, &job, 0, 0);
    cr_assert_eq(fake_hellos(second), 1);
    ballast_close(client);
    fake_stop(first);
    fake_stop(second);
}

/* A reply gets lost, but the daemon goes on talking: it is asked again, not left. */
Test(client_failover, a_lost_reply_is_asked_for_again)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    fake_behave(daemon, (struct fake_behaviour){ .ignore_batch = true, .times = 1 });
    ballast_options options = options_for(daemon, NULL);
    options.prefetch = 1;
    options.retry_ms = 500;
    ballast_client *client = open_with(&options);
    ballast_batch *batch = NULL;
    while (counters_of(client).requests == 0)
        cr_assert_eq(ballast_next(client, 1, &batch), BALLAST_TIMEOUT);
    while (counters_of(client).retries == 0)
        ballast_batch_free(take(client, 3, 0));
    expect_rest(client, &job, 0, 0);
    cr_assert_eq(fake_hellos(daemon), 1);
    ballast_close(client);
    fake_stop(daemon);
}

/* One daemon cannot read a shard that another can. */
Test(client_failover, another_daemon_is_asked_what_one_cannot_read)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *first = start(&job), *second = start(&job);
    fake_behave(first, (struct fake_behaviour){ .batch_status = BALLAST_IO_ERROR });
    ballast_options options = options_for(first, second);
    ballast_client *client = open_with(&options);
    expect_rest(client, &job, 0, 0);
    cr_assert_eq(counters_of(client).failovers, 1);
    ballast_close(client);
    fake_stop(first);
    fake_stop(second);
}

Test(client_failover, a_draining_daemon_is_left_at_once)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *first = start(&job), *second = start(&job);
    ballast_options options = options_for(first, second);
    options.retry_ms = 600000; /* silence would take for ever */
    ballast_client *client = open_with(&options);
    expect_next(client, &job, 0, 0);
    fake_behave(first, (struct fake_behaviour){ .batch_status = BALLAST_DRAINING,
                                                .hello_status = BALLAST_DRAINING });
    expect_rest(client, &job, 0, 1);
    cr_assert_eq(counters_of(client).failovers, 1);
    ballast_close(client);
    fake_stop(first);
    fake_stop(second);
}

/* kill -9 and a new start on the same port: HELLO is said again, and nothing is lost. */
Test(client_failover, the_only_daemon_restarts)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    char endpoint[256];
    snprintf(endpoint, sizeof endpoint, "%s", fake_endpoint(daemon));
    ballast_options options = options_for(daemon, NULL);
    options.retry_ms = 60000; /* the broken connection must be enough to notice */
    ballast_client *client = open_with(&options);
    expect_next(client, &job, 0, 0);
    fake_stop(daemon);
    daemon = fake_start(&job, endpoint);
    cr_assert_not_null(daemon);
    expect_rest(client, &job, 0, 1);
    cr_assert_eq(fake_hellos(daemon), 1);
    ballast_close(client);
    fake_stop(daemon);
}

/* What stands on the way takes connections and closes them, as if it would not have our keys. */
static void *close_all(void *argument)
{
    int listener = *(int *)argument, connection;
    while ((connection = accept(listener, NULL, NULL)) >= 0)
        close(connection);
    return NULL;
}

Test(client_failover, a_door_that_closes_behind_who_was_served_is_no_denial)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    char endpoint[256];
    snprintf(endpoint, sizeof endpoint, "%s", fake_endpoint(daemon));
    ballast_options options = options_for(daemon, NULL);
    options.retry_ms = SHORT_RETRY_MS;
    ballast_client *client = open_with(&options);
    expect_next(client, &job, 0, 0);
    fake_stop(daemon);

    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)atoi(strrchr(endpoint, ':') + 1)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    pthread_t thread;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    cr_assert_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(listen(listener, 16), 0);
    cr_assert_eq(pthread_create(&thread, NULL, close_all, &listener), 0);
    ballast_batch *batch = NULL;
    ballast_status status;
    while ((status = ballast_next(client, 500, &batch)) == BALLAST_OK)
        ballast_batch_free(batch); /* what had come before */
    cr_assert_eq(status, BALLAST_TIMEOUT, "%s", ballast_message(client));
    cr_assert(strstr(ballast_message(client), "closes the connection"), "%s",
              ballast_message(client));
    shutdown(listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(listener);

    daemon = fake_start(&job, endpoint);
    cr_assert_not_null(daemon);
    ballast_batch_free(take(client, 5, 0));
    ballast_close(client);
    fake_stop(daemon);
}

Test(client_failover, a_daemon_that_starts_late)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    char endpoint[256];
    snprintf(endpoint, sizeof endpoint, "%s", fake_endpoint(daemon));
    fake_stop(daemon);
    ballast_options options = BALLAST_OPTIONS_INIT;
    options.endpoints = endpoint;
    ballast_client *client = open_with(&options);
    ballast_batch *batch = NULL;
    cr_assert_eq(ballast_next(client, 50, &batch), BALLAST_TIMEOUT);
    daemon = fake_start(&job, endpoint);
    cr_assert_not_null(daemon);
    expect_rest(client, &job, 0, 0);
    ballast_close(client);
    fake_stop(daemon);
}

Test(client_failover, the_only_job_is_another_one)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    ballast_options options = options_for(daemon, NULL);
    options.job = "something-else";
    ballast_client *client = open_with(&options);
    ballast_batch *batch = NULL;
    cr_assert_eq(ballast_next(client, PATIENCE_MS, &batch), BALLAST_WRONG_JOB);
    cr_assert(strstr(ballast_message(client), "something-else"));
    cr_assert_eq(ballast_next(client, 0, &batch), BALLAST_WRONG_JOB, "for ever");
    ballast_close(client);
    fake_stop(daemon);
}

Test(client_failover, a_daemon_of_another_job_is_passed_over)
{
    struct fake_job job = fake_job_small(), other = job;
    other.name = "other";
    other.digest_salt = 1;
    struct fake_daemon *first = start(&other), *second = start(&job);
    ballast_options options = options_for(first, second);
    options.job = "fake";
    ballast_client *client = open_with(&options);
    expect_rest(client, &job, 0, 0);
    ballast_close(client);
    fake_stop(first);
    fake_stop(second);
}

/* Same name, other configuration: the replica is never asked, and when only it is left, told. */
Test(client_failover, a_replica_of_another_digest_is_dropped)
{
    struct fake_job job = fake_job_small(), changed = job;
    changed.digest_salt = 1;
    struct fake_daemon *first = start(&job), *second = start(&changed);
    ballast_options options = options_for(first, second);
    ballast_client *client = open_with(&options);
    expect_next(client, &job, 0, 0);
    fake_behave(first, (struct fake_behaviour){ .batch_status = BALLAST_DRAINING, .times = 3 });
    expect_rest(client, &job, 0, 1);
    struct fake_request requests[1];
    cr_assert_eq(fake_requests(second, requests, 1), 0);
    fake_behave(first, (struct fake_behaviour){ .hello_status = BALLAST_WRONG_JOB,
                                                .batch_status = BALLAST_WRONG_JOB });
    ballast_batch *batch = NULL;
    cr_assert_eq(ballast_get(client, 2, 0, PATIENCE_MS, &batch), BALLAST_WRONG_JOB);
    ballast_close(client);
    fake_stop(first);
    fake_stop(second);
}

/* It plans otherwise although configuration and corpus are the same: noticed before it is asked for
 * anything, and the job goes on without it. */
Test(client_failover, a_replica_of_another_order_is_dropped_and_told)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *first = start(&job), *second = start(&job);
    fake_behave(second, (struct fake_behaviour){ .digest_salt = 1 });
    ballast_options options = options_for(first, second);
    options.retry_ms = SHORT_RETRY_MS;
    ballast_client *client = open_with(&options);
    expect_next(client, &job, 0, 0);
    cr_assert_str_eq(ballast_warning(client), "");
    fake_behave(first, (struct fake_behaviour){ .batch_status = BALLAST_DRAINING, .times = 1 });
    expect_rest(client, &job, 0, 1);
    struct fake_request requests[8];
    size_t count = fake_requests(second, requests, 8);
    for (size_t i = 0; i < count && i < 8; i++)
        cr_assert_eq(requests[i].parts, 0, "compared, not asked for data");
    if (count) { /* the first may have answered all that was left before it was drained */
        cr_assert_eq(count, 1, "never asked again");
        cr_assert_eq(counters_of(client).dropped, 1);
        cr_assert(strstr(ballast_warning(client), fake_endpoint(second)));
        cr_assert(strstr(ballast_warning(client), "data order"));
    }
    ballast_close(client);
    fake_stop(first);
    fake_stop(second);
}

/* The order of a daemon that comes back is compared as well: it may be another program by now. */
Test(client_failover, a_daemon_that_comes_back_with_another_order_is_refused)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    char endpoint[256];
    snprintf(endpoint, sizeof endpoint, "%s", fake_endpoint(daemon));
    ballast_options options = options_for(daemon, NULL);
    options.prefetch = 1;
    ballast_client *client = open_with(&options);
    expect_next(client, &job, 0, 0);
    fake_stop(daemon);
    daemon = fake_start(&job, endpoint);
    cr_assert_not_null(daemon);
    fake_behave(daemon, (struct fake_behaviour){ .digest_salt = 1 });
    ballast_batch *batch = NULL;
    ballast_status status;
    while ((status = ballast_next(client, PATIENCE_MS, &batch)) == BALLAST_OK)
        ballast_batch_free(batch); /* what had come before */
    cr_assert_eq(status, BALLAST_DIGEST);
    cr_assert_eq(counters_of(client).dropped, 1);
    ballast_close(client);
    fake_stop(daemon);
}

/* It lives, and answers everything with TIMEOUT: its planner or its disk hangs. */
Test(client_failover, a_daemon_that_never_gets_there_is_left)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *first = start(&job), *second = start(&job);
    fake_behave(first, (struct fake_behaviour){ .hold = true });
    ballast_options options = options_for(first, second);
    options.retry_ms = SHORT_RETRY_MS;
    ballast_client *client = open_with(&options);
    expect_rest(client, &job, 0, 0);
    cr_assert_geq(counters_of(client).failovers, 1);
    cr_assert_eq(counters_of(client).dropped, 0);
    ballast_close(client);
    fake_stop(first);
    fake_stop(second);
}

Test(client_failover, ranks_that_the_job_does_not_have)
{
    struct fake_job job = fake_job_small();
    struct fake_daemon *daemon = start(&job);
    for (int i = 0; i < 2; i++) {
        ballast_options options = options_for(daemon, NULL);
        options.dp_rank = i == 0;
        options.cp_rank = i == 1;
        ballast_client *client = open_with(&options);
        ballast_job facts;
        cr_assert_eq(ballast_get_job(client, PATIENCE_MS, &facts), BALLAST_OUT_OF_RANGE);
        cr_assert(strstr(ballast_message(client), i == 0 ? "dp_rank is 1" : "cp_rank is 1"));
        ballast_close(client);
    }
    fake_stop(daemon);
}
