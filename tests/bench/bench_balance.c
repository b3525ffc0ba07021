/*
 * Balance, delay and time of packing, for many configurations in one process:
 *
 *     bench_balance < JOBS     a line each: steps to count, a space, a configuration as JSON
 *
 * One line of JSON a job, in the same order:
 *   makespan_ratio   sum of the steps' largest workloads over the sum of their means
 *   imbalance        max / mean workload of a step, mean over steps
 *   delay, delay_max step served - step arrived, token-weighted mean, and the most
 *   held             what waits after a step, in global batches, mean: over long runs the delay,
 * but it counts what is never served as well pack_us          processor time in which the policy
 * packs a step, its foresight included; mean The first 10 steps warm the queues up and count
 * nowhere.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "config/config.h"
#include "corpus/corpus.h"
#include "plan/plan.h"
#include "simulate/tally.h"

#define WARM_UP_STEPS 10u

static void die(const char *what, const struct error *err)
{
    fprintf(stderr, "bench_balance: %s: %s\n", what, err->text);
    exit(1);
}

struct run {
    struct tally tally;
    double held_tokens; /* summed over the steps */
    uint64_t began_ns, pack_ns;
};

static void watch_packing(void *context, bool begins)
{
    struct run *run = context;
    if (begins)
        run->began_ns = thread_ns();
    else
        run->pack_ns += thread_ns() - run->began_ns;
}

static void print(const struct run *run)
{
    const struct tally *tally = &run->tally;
    printf("{\"makespan_ratio\":%.9f,\"imbalance\":%.9f,\"delay\":%.9f,\"delay_max\":%" PRIu64
           ",\"held\":%.9f,\"pack_us\":%.3f,\"steps\":%" PRIu64 "}\n",
           tally_makespan_ratio(tally), tally_imbalance(tally), tally_delay(tally),
           tally->delay_max, run->held_tokens / (double)tally->tokens,
           (double)run->pack_ns / 1e3 / (double)tally->steps, tally->steps);
    fflush(stdout);
}

static void run_steps(struct planner *planner, uint64_t steps)
{
    struct run run = { 0 };
    struct step_plan plan = { 0 };
    struct error err = { 0 };
    planner_watch(planner, watch_packing, &run);
    for (uint64_t step = 0; step < WARM_UP_STEPS + steps; step++) {
        if (planner_step(planner, &plan, &err) != PLANNER_STEP)
            die("planning", &err);
        if (step < WARM_UP_STEPS) {
            run = (struct run){ 0 };
            continue;
        }
        tally_add(&run.tally, &plan);
        run.held_tokens += (double)plan.waiting.tokens;
    }
    print(&run);
    step_plan_fini(&plan);
}

static void run_job(uint64_t steps, const char *text)
{
    struct config *config = NULL;
    struct corpus *corpus = NULL;
    struct planner *planner = NULL;
    struct error err = { 0 };
    if (config_parse("job", text, strlen(text), NULL, 0, &config, &err))
        die("configuration", &err);
    if (corpus_open(config->sources, config->source_count, config->vocab_size, NULL, NULL, &corpus,
                    &err))
        die("corpus", &err);
    if (planner_new(config, corpus, &planner, &err))
        die("planner", &err);
    run_steps(planner, steps);
    planner_free(planner);
    corpus_close(corpus);
    config_free(config);
}

int main(void)
{
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, stdin) > 0) {
        char *text;
        uint64_t steps = strtoull(line, &text, 10);
        if (steps == 0) {
            fprintf(stderr, "bench_balance: expected steps and a configuration, found: %s", line);
            return 64;
        }
        run_job(steps, text);
    }
    free(line);
    return 0;
}
