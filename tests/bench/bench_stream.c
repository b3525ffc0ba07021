/*
 * Streaming over loopback, one way of receiving a run:
 *
 *   bench_stream ballast ENDPOINT FIRST STEPS        libballast clients, one for each (dp, cp) rank
 *   bench_stream raw ENDPOINT FIRST STEPS SIZES      bare DEALERs that check every checksum; writes
 *                                                    the sizes of all frames
 *   bench_stream bare-server SIZES                   a bare ROUTER that sends frames of these
 * sizes; prints its endpoint, ends with standard input bench_stream bare ENDPOINT SIZES bare
 * DEALERs that receive them, and no more bench_stream latency ENDPOINT FIRST STEPS PAUSE libballast
 * clients that pause PAUSE microseconds between calls of ballast_next
 *
 * All but bare-server print one JSON object: {"bytes","messages","seconds"}, counted from when all
 * clients are connected; or {"calls","p50_us","p99_us","max_us"}. stream.py puts them together.
 */
#include <ballast/ballast.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "clock.h"
#include "frame_sizes.h"
#include "stream.h"

_Noreturn void die(const char *message)
{
    fprintf(stderr, "bench_stream: %s\n", message);
    exit(1);
}

void crew_ask_job(struct crew *crew)
{
    ballast_options options = BALLAST_OPTIONS_INIT;
    options.endpoints = crew->endpoint;
    ballast_client *client = NULL;
    ballast_job job;
    if (ballast_open(&options, &client) != BALLAST_OK)
        die("ballast_open failed");
    if (ballast_get_job(client, WAIT_MS, &job) != BALLAST_OK)
        die(ballast_message(client));
    crew->dp = job.dp;
    crew->cp = job.cp;
    crew->microbatches = job.microbatches;
    ballast_close(client);
}

void crew_run(struct crew *crew, uint32_t count, void *(*work)(void *member))
{
    struct member *members = calloc(count, sizeof *members);
    if (!members || pthread_barrier_init(&crew->start, NULL, count + 1))
        die("out of memory");
    for (uint32_t i = 0; i < count; i++) {
        members[i] = (struct member){ .crew = crew, .index = i };
        if (pthread_create(&members[i].thread, NULL, work, &members[i]))
            die("cannot start a thread");
    }
    pthread_barrier_wait(&crew->start);
    uint64_t start = now_ns();
    struct totals totals = { 0 };
    for (uint32_t i = 0; i < count; i++) {
        pthread_join(members[i].thread, NULL);
        totals.bytes += members[i].totals.bytes;
        totals.messages += members[i].totals.messages;
    }
    printf("{\"bytes\":%" PRIu64 ",\"messages\":%" PRIu64 ",\"seconds\":%.6f}\n", totals.bytes,
           totals.messages, (double)(now_ns() - start) / 1e9);
    pthread_barrier_destroy(&crew->start);
    free(members);
}

static uint64_t number(const char *text)
{
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (end == text || *end)
        die("a number was expected");
    return value;
}

static void run_raw(struct crew *crew, const char *path)
{
    crew_ask_job(crew);
    uint32_t clients = crew->dp * crew->cp;
    struct frame_sizes sizes =
        frame_sizes_new(clients, (uint32_t)(crew->steps * crew->microbatches));
    crew->sizes = &sizes;
    crew->zmq = zmq_ctx_new();
    crew_run(crew, clients, raw_member);
    zmq_ctx_term(crew->zmq);
    frame_sizes_write(&sizes, path);
    frame_sizes_free(&sizes);
}

static void run_bare(struct crew *crew, const char *path)
{
    struct frame_sizes sizes = frame_sizes_read(path);
    crew->sizes = &sizes;
    crew->zmq = zmq_ctx_new();
    crew_run(crew, sizes.clients, bare_member);
    zmq_ctx_term(crew->zmq);
    frame_sizes_free(&sizes);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[1] : "";
    struct crew crew = { .endpoint = argc > 2 ? argv[2] : NULL };
    if (strcmp(mode, "bare-server") == 0 && argc == 3) {
        bare_server(argv[2]);
        return 0;
    }
    if (strcmp(mode, "bare") == 0 && argc == 4) {
        run_bare(&crew, argv[3]);
        return 0;
    }
    if (argc < 5)
        die("wrong arguments; the head of bench_stream.c lists them");
    crew.first_step = number(argv[3]);
    crew.steps = number(argv[4]);
    if (strcmp(mode, "ballast") == 0 && argc == 5) {
        crew_ask_job(&crew);
        crew_run(&crew, crew.dp * crew.cp, ballast_member);
    } else if (strcmp(mode, "raw") == 0 && argc == 6) {
        run_raw(&crew, argv[5]);
    } else if (strcmp(mode, "latency") == 0 && argc == 6) {
        crew.pause_us = (unsigned)number(argv[5]);
        run_latency(&crew);
    } else {
        die("wrong arguments; the head of bench_stream.c lists them");
    }
    return 0;
}
