/* Receiving through libballast: as fast as it can, or with a trainer's pauses. */
#include <ballast/ballast.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "stream.h"

static ballast_client *open_client(const struct member *member)
{
    const struct crew *crew = member->crew;
    ballast_options options = BALLAST_OPTIONS_INIT;
    options.endpoints = crew->endpoint;
    options.dp_rank = member->index / crew->cp;
    options.cp_rank = member->index % crew->cp;
    options.first_step = crew->first_step;
    options.prefetch = IN_FLIGHT;
    options.retry_ms = WAIT_MS;
    ballast_client *client = NULL;
    ballast_job job;
    if (ballast_open(&options, &client) != BALLAST_OK)
        die("ballast_open failed");
    if (ballast_get_job(client, WAIT_MS, &job) != BALLAST_OK)
        die(ballast_message(client));
    return client;
}

static void next(ballast_client *client, uint64_t expected_step)
{
    ballast_batch *batch = NULL;
    if (ballast_next(client, WAIT_MS, &batch) != BALLAST_OK)
        die(ballast_message(client));
    if (ballast_batch_view(batch)->step != expected_step)
        die("a batch of another step");
    ballast_batch_free(batch);
}

static void finish(struct member *member, ballast_client *client)
{
    ballast_counters counters;
    ballast_get_counters(client, &counters);
    if (counters.corrupt)
        die("a reply failed its checks");
    member->totals = (struct totals){ counters.bytes, counters.batches };
    ballast_close(client);
}

void *ballast_member(void *argument)
{
    struct member *member = argument;
    const struct crew *crew = member->crew;
    ballast_client *client = open_client(member);
    pthread_barrier_wait(&member->crew->start);
    for (uint64_t step = 0; step < crew->steps; step++)
        for (uint32_t slot = 0; slot < crew->microbatches; slot++)
            next(client, crew->first_step + step);
    finish(member, client);
    return NULL;
}

/* The time in which a trainer would compute. */
static void pause_us(unsigned us)
{
    struct timespec pause = { us / 1000000, (long)(us % 1000000) * 1000 };
    ppoll(NULL, 0, &pause, NULL);
}

void *latency_member(void *argument)
{
    struct member *member = argument;
    const struct crew *crew = member->crew;
    ballast_client *client = open_client(member);
    pthread_barrier_wait(&member->crew->start);
    /* Ranks of different replicas and different CP ranks are never quite in step. */
    pause_us(crew->pause_us / (crew->dp * crew->cp) * member->index);
    uint64_t *took = member->next_ns;
    for (uint64_t step = 0; step < crew->steps; step++)
        for (uint32_t slot = 0; slot < crew->microbatches; slot++) {
            uint64_t start = now_ns();
            next(client, crew->first_step + step);
            *took++ = now_ns() - start;
            pause_us(crew->pause_us);
        }
    finish(member, client);
    return NULL;
}

/* The first calls of every rank find nothing prefetched yet. */
static void print_latencies(struct member *members, uint32_t ranks, size_t calls, size_t skip)
{
    size_t kept = calls - skip, count = 0;
    uint64_t *all = calloc(ranks * kept, sizeof *all);
    if (!all)
        die("out of memory");
    for (uint32_t r = 0; r < ranks; r++)
        for (size_t i = skip; i < calls; i++)
            all[count++] = members[r].next_ns[i];
    double p50 = (double)percentile(all, count, 500), p99 = (double)percentile(all, count, 990);
    printf("{\"calls\":%zu,\"p50_us\":%.1f,\"p99_us\":%.1f,\"max_us\":%.1f}\n", count, p50 / 1e3,
           p99 / 1e3, (double)all[count - 1] / 1e3);
    free(all);
}

void run_latency(struct crew *crew)
{
    crew_ask_job(crew);
    uint32_t ranks = crew->dp * crew->cp;
    size_t calls = (size_t)crew->steps * crew->microbatches;
    struct member *members = calloc(ranks, sizeof *members);
    if (!members || calls <= 2 * IN_FLIGHT || pthread_barrier_init(&crew->start, NULL, ranks))
        die("too few steps, or out of memory");
    for (uint32_t i = 0; i < ranks; i++) {
        members[i] = (struct member){ .crew = crew, .index = i };
        members[i].next_ns = calloc(calls, sizeof *members[i].next_ns);
        if (!members[i].next_ns ||
            pthread_create(&members[i].thread, NULL, latency_member, &members[i]))
            die("cannot start a thread");
    }
    for (uint32_t i = 0; i < ranks; i++)
        pthread_join(members[i].thread, NULL);
    print_latencies(members, ranks, calls, 2 * IN_FLIGHT);
    for (uint32_t i = 0; i < ranks; i++)
        free(members[i].next_ns);
    pthread_barrier_destroy(&crew->start);
    free(members);
}
