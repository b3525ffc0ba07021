/*
 * A trainer rank that may be killed at any moment: it goes on behind its last checkpoint, with the
 * digest stored there, and keeps everything it receives (rank_log.h).
 *
 *   fault_rank ENDPOINTS DP CP STEPS DIR TIMEOUT_MS RETRY_MS PAUSE_US
 *
 * One line a finished step, its number. At the end one JSON object: counters of the client; the
 * longest time between two batches, the pause left out; by how much the slowest call overran its
 * timeout; the warning. Exit status 0; 1 when a call fails for good, said on standard error.
 */
#include <ballast/ballast.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fault/rank_log.h"

struct rank {
    const char *directory;
    ballast_options options;
    ballast_client *client;
    struct rank_log log;
    struct checkpoint last;
    uint64_t steps;
    int timeout_ms;
    unsigned pause_us;
    uint32_t microbatches;
    uint64_t gap_ns, overrun_ns; /* the longest so far */
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t number(const char *text)
{
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (end == text || *end) {
        fprintf(stderr, "fault_rank: '%s' is no number\n", text);
        exit(2);
    }
    return value;
}

static bool again(ballast_status status)
{
    return status == BALLAST_TIMEOUT || status == BALLAST_BUSY || status == BALLAST_DRAINING ||
           status == BALLAST_IO_ERROR || status == BALLAST_SYSTEM;
}

static void give_up(const struct rank *rank, ballast_status status)
{
    fprintf(stderr, "fault_rank: %s: %s\n", ballast_status_text(status),
            ballast_message(rank->client));
    exit(1);
}

static void note_call(struct rank *rank, uint64_t began_ns)
{
    uint64_t took_ns = now_ns() - began_ns, allowed_ns = (uint64_t)rank->timeout_ms * 1000000;
    if (took_ns > allowed_ns && took_ns - allowed_ns > rank->overrun_ns)
        rank->overrun_ns = took_ns - allowed_ns;
}

static void ask_job(struct rank *rank)
{
    ballast_job job;
    ballast_status status;
    do {
        uint64_t began_ns = now_ns();
        status = ballast_get_job(rank->client, rank->timeout_ms, &job);
        note_call(rank, began_ns);
    } while (again(status));
    if (status != BALLAST_OK)
        give_up(rank, status);
    rank->microbatches = job.microbatches;
}

static ballast_batch *next(struct rank *rank)
{
    ballast_batch *batch = NULL;
    ballast_status status;
    uint64_t asked_ns = now_ns();
    do {
        uint64_t began_ns = now_ns();
        status = ballast_next(rank->client, rank->timeout_ms, &batch);
        note_call(rank, began_ns);
    } while (again(status));
    if (status != BALLAST_OK)
        give_up(rank, status);
    if (now_ns() - asked_ns > rank->gap_ns)
        rank->gap_ns = now_ns() - asked_ns;
    return batch;
}

/* The time in which a trainer would compute. */
static void compute(const struct rank *rank)
{
    struct timespec pause = { rank->pause_us / 1000000, (long)(rank->pause_us % 1000000) * 1000 };
    if (rank->pause_us)
        ppoll(NULL, 0, &pause, NULL);
}

static void train_step(struct rank *rank, uint64_t step)
{
    for (uint32_t slot = 0; slot < rank->microbatches; slot++) {
        ballast_batch *batch = next(rank);
        const ballast_view *view = ballast_batch_view(batch);
        if (view->step != step || view->slot != slot) {
            fprintf(stderr, "fault_rank: step %" PRIu64 " slot %u came as %" PRIu64 " %u\n", step,
                    slot, view->step, view->slot);
            exit(1);
        }
        rank_log_batch(&rank->log, view);
        ballast_batch_free(batch);
        compute(rank);
    }
    rank_log_step(&rank->log, step);
    ballast_ack(rank->client, step);
    printf("%" PRIu64 "\n", step);
    fflush(stdout);
}

static void open_rank(struct rank *rank)
{
    if (rank_log_open(&rank->log, rank->directory, rank->options.dp_rank, rank->options.cp_rank,
                      &rank->last)) {
        rank->options.first_step = rank->last.step + 1;
        rank->options.expected_digest = rank->last.digest;
    }
    if (ballast_open(&rank->options, &rank->client) != BALLAST_OK) {
        fprintf(stderr, "fault_rank: ballast_open failed\n");
        exit(1);
    }
}

static void report(const struct rank *rank)
{
    ballast_counters counters;
    ballast_get_counters(rank->client, &counters);
    printf("{\"batches\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"requests\":%" PRIu64
           ",\"retries\":%" PRIu64 ",\"failovers\":%" PRIu64 ",\"corrupt\":%" PRIu64
           ",\"dropped\":%" PRIu64 ",\"gap_ms\":%.1f,\"overrun_ms\":%.1f,\"warning\":\"%s\"}\n",
           counters.batches, counters.bytes, counters.requests, counters.retries,
           counters.failovers, counters.corrupt, counters.dropped, (double)rank->gap_ns / 1e6,
           (double)rank->overrun_ns / 1e6, ballast_warning(rank->client));
}

int main(int argc, char **argv)
{
    if (argc != 9) {
        fprintf(stderr, "usage: fault_rank ENDPOINTS DP CP STEPS DIR TIMEOUT_MS RETRY_MS "
                        "PAUSE_US\n");
        return 2;
    }
    struct rank rank = { .directory = argv[5],
                         .options = BALLAST_OPTIONS_INIT,
                         .steps = number(argv[4]),
                         .timeout_ms = (int)number(argv[6]),
                         .pause_us = (unsigned)number(argv[8]) };
    rank.options.endpoints = argv[1];
    rank.options.dp_rank = (uint32_t)number(argv[2]);
    rank.options.cp_rank = (uint32_t)number(argv[3]);
    rank.options.retry_ms = (uint32_t)number(argv[7]);
    rank.options.end_step = rank.steps;
    open_rank(&rank);
    if (rank.options.first_step < rank.steps)
        ask_job(&rank);
    for (uint64_t step = rank.options.first_step; step < rank.steps; step++)
        train_step(&rank, step);
    report(&rank);
    ballast_close(rank.client);
    rank_log_close(&rank.log);
    return 0;
}
