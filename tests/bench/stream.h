/* What the parts of bench_stream share. */
#ifndef BALLAST_BENCH_STREAM_H
#define BALLAST_BENCH_STREAM_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define IN_FLIGHT 4u /* requests a client keeps under way: the default of libballast */
#define WAIT_MS 60000

/* What was received, frames of all kinds included. */
struct totals {
    uint64_t bytes, messages;
};

struct crew;

/* One client of a run: receives all it should and adds up what came. */
struct member {
    struct crew *crew;
    uint32_t index;
    struct totals totals;
    uint64_t *next_ns; /* latency runs only: one per call */
    pthread_t thread;
};

/* A run of many clients, each a thread, that start together. */
struct crew {
    const char *endpoint;
    uint64_t first_step, steps;
    uint32_t dp, cp, microbatches;
    unsigned pause_us;         /* latency runs only: what a trainer would compute meanwhile */
    struct frame_sizes *sizes; /* what raw clients record and bare ones replay */
    void *zmq;                 /* context of raw and bare clients */
    pthread_barrier_t start;
};

/* Prints the message and ends the program. */
_Noreturn void die(const char *message);

/* Asks the daemon for dp, cp and microbatches. */
void crew_ask_job(struct crew *crew);

/* Runs `work` in `count` threads; prints bytes, messages and seconds as one JSON object. */
void crew_run(struct crew *crew, uint32_t count, void *(*work)(void *member));

/* The thread functions: libballast, libballast with pauses, DEALER to a daemon, DEALER to the bare
 * server. Each waits at crew->start when it is connected. */
void *ballast_member(void *member);
void *latency_member(void *member);
void *raw_member(void *member);
void *bare_member(void *member);

/* Serves frames of the given sizes to whoever asks, until standard input ends. */
void bare_server(const char *sizes_path);

/* p50 and p99 of ballast_next over `ranks` clients, as one JSON object. */
void run_latency(struct crew *crew);

#endif
