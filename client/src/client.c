#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "await.h"
#include "clock.h"
#include "deliver.h"
#include "session.h"
#include "wire/text.h"

/* A context with its two threads, a socket and its monitor take fewer. */
#define CONTEXT_DESCRIPTORS 12

/* Host name and process, for operators. */
static void name_client(ballast_client *client)
{
    char host[128] = "";
    if (gethostname(host, sizeof host) != 0 || !host[0])
        snprintf(host, sizeof host, "unknown");
    host[sizeof host - 1] = '\0';
    snprintf(client->name, sizeof client->name, "%s:%ld", host, (long)getpid());
    wire_text_clean(client->name, WIRE_MAX_TEXT_BYTES);
}

/* Differs for every start of the same rank; no security rests on it. */
static uint64_t new_incarnation(void)
{
    uint64_t incarnation;
    if (getrandom(&incarnation, sizeof incarnation, GRND_NONBLOCK) == sizeof incarnation)
        return incarnation;
    return (uint64_t)clock_ns() ^ (uint64_t)getpid() << 40;
}

/*
 * ZeroMQ aborts the process when the threads of a new context find no descriptors. Whether they
 * will is tried first; other threads may still take what was there, which nothing here can prevent.
 */
static bool descriptors_left(void)
{
    int taken[CONTEXT_DESCRIPTORS], count = 0;
    while (count < CONTEXT_DESCRIPTORS && (taken[count] = eventfd(0, EFD_CLOEXEC)) >= 0)
        count++;
    for (int i = 0; i < count; i++)
        close(taken[i]);
    return count == CONTEXT_DESCRIPTORS;
}

static ballast_status open_context(ballast_client *client)
{
    if (!descriptors_left())
        return BALLAST_SYSTEM;
    client->context = zmq_ctx_new();
    if (!client->context)
        return errno == ENOMEM ? BALLAST_NO_MEMORY : BALLAST_SYSTEM;
    zmq_ctx_set(client->context, ZMQ_BLOCKY, 0);
    return BALLAST_OK;
}

static ballast_status set_up(ballast_client *client, const ballast_options *options)
{
    ballast_status status = options_read(options, &client->options);
    if (status != BALLAST_OK)
        return status;
    client->incarnation = new_incarnation();
    client->end_step = UINT64_MAX;
    client->next_step = client->options.first_step;
    client->order.known = client->options.digest_expected;
    client->order.step = client->options.first_step - 1; /* of step 0: ORDER_OF_JOB */
    memcpy(client->order.digest, client->options.expected_digest, BALLAST_DIGEST_BYTES);
    name_client(client);
    window_seek(&client->window, client->options.first_step);
    status = open_context(client);
    return status == BALLAST_OK ? session_open(client) : status;
}

ballast_status ballast_open(const ballast_options *options, ballast_client **ret_client)
{
    ballast_client *client = calloc(1, sizeof *client);
    if (!client)
        return BALLAST_NO_MEMORY;
    ballast_status status = set_up(client, options);
    if (status != BALLAST_OK) {
        ballast_close(client);
        return status;
    }
    *ret_client = client;
    return BALLAST_OK;
}

void ballast_close(ballast_client *client)
{
    if (!client)
        return;
    session_close(client);
    /* Nothing lingers, so this waits for ZeroMQ's own thread to end and no longer. */
    while (client->context && zmq_ctx_term(client->context) != 0 && zmq_errno() == EINTR)
        continue;
    options_fini(&client->options);
    free(client);
}

const char *ballast_message(const ballast_client *client)
{
    return client->last.text;
}

const char *ballast_warning(const ballast_client *client)
{
    return client->session.warning.text;
}

static ballast_status look_for_facts(ballast_client *client, void *context)
{
    (void)context;
    return client->facts_known ? BALLAST_OK : deliver_not_yet(client);
}

ballast_status ballast_get_job(ballast_client *client, int timeout_ms, ballast_job *ret_job)
{
    if (timeout_ms < 0)
        return problem_set(&client->last, BALLAST_INVALID, "timeout_ms is negative");
    if (!client->facts_known) {
        ballast_status status = await(client, timeout_ms, look_for_facts, NULL);
        if (status != BALLAST_OK)
            return status;
    }
    *ret_job = client->facts.job;
    return BALLAST_OK;
}

ballast_status ballast_ack(ballast_client *client, uint64_t step)
{
    client->ack_step = step;
    client->ack_due = true;
    session_pump(client);
    return BALLAST_OK;
}

void ballast_get_counters(const ballast_client *client, ballast_counters *ret_counters)
{
    *ret_counters = client->counters;
}
