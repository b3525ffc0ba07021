/*
 * Simulation: one variant of a job (its policy, sharding and the rest of its configuration) planned
 * over its corpus, and what its steps amount to. Variants of one job see the same stream, so their
 * figures compare.
 *
 * Pure: the clock that measures packing is the caller's. Memory grows by a few numbers a step.
 */
#ifndef BALLAST_SIMULATE_RUN_H
#define BALLAST_SIMULATE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "config/config.h"
#include "corpus/corpus.h"
#include "simulate/levels.h"
#include "simulate/series.h"
#include "simulate/tally.h"

/* Steps that fill the queues of a policy, and count nowhere. */
#define SIMULATE_WARM_UP 10

/* Most steps and most micro-batches whose workload is kept, to be drawn. */
#define SIMULATE_DRAWN_STEPS 60
#define SIMULATE_DRAWN_MICROBATCHES 4096

struct simulate_options {
    uint64_t steps;           /* to count, after those that warm up; fewer where the data ends */
    uint64_t (*now_ns)(void); /* a clock that only goes forward; NULL: every duration is 0 */
    void (*progress)(void *context, uint64_t steps_done); /* after every step; may be NULL */
    void *context;
};

struct simulation {
    struct tally tally;
    uint64_t documents; /* that ended in these steps */
    double seconds;     /* that planning them took */
    struct series imbalance;
    struct series pack_us;     /* microseconds that the policy packed */
    struct series step_time;   /* in `unit` */
    struct step_levels levels; /* sums over the steps */
    struct series drawn;       /* workloads of the first steps' micro-batches, step by step */
    uint32_t microbatches;     /* N */
    double crossover_tokens;   /* B */
    const char *unit;          /* of workloads and times */
    bool ended;                /* the data has no further step */
};

/*
 * Plans the job of `config` over `corpus`. On success *ret_simulation is the caller's until
 * simulation_fini. EX_USAGE when the data ends before a step counts; otherwise as planner_new and
 * planner_step. *ret_simulation is untouched on failure.
 */
int simulate_run(const struct config *config, const struct corpus *corpus,
                 const struct simulate_options *options, struct simulation *ret_simulation,
                 struct error *err);
void simulation_fini(struct simulation *simulation);

/* Predicted time per token, in `unit`. */
double simulation_token_time(const struct simulation *simulation);

/* How many times as many tokens per time as `baseline`. */
double simulation_speedup(const struct simulation *simulation, const struct simulation *baseline);

/*
 * How many times as much work per time. Cut documents need less attention, so a policy that cuts
 * them does less work for its tokens: this is what balance gains, whatever it is compared with.
 */
double simulation_equal_work_speedup(const struct simulation *simulation,
                                     const struct simulation *baseline);

double simulation_documents_per_second(const struct simulation *simulation); /* 0: no clock */

#endif
