/*
 * Balance, delay and time of packing, for many configurations in one process:
 *
 *     bench_balance < JOBS     a line each: steps to count, a space, a configuration as JSON
 *
 * One line of JSON a job, in the same order:
 *   makespan_ratio   sum of the steps' largest workloads over the sum of their means
 *   imbalance        max / mean workload of a step, mean over steps
 *   delay, delay_max step served - step arrived, token-weighted mean, and the most
 *   pack_us          processor time in which the policy packs a step, its foresight included; mean
 * The first 10 steps warm the queues up and count nowhere.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "config/config.h"
#include "corpus/corpus.h"
#include "simulate/run.h"

static void die(const char *what, const struct error *err)
{
    fprintf(stderr, "bench_balance: %s: %s\n", what, err->text);
    exit(1);
}

static void print(const struct simulation *simulation)
{
    const struct tally *tally = &simulation->tally;
    printf("{\"makespan_ratio\":%.9f,\"imbalance\":%.9f,\"delay\":%.9f,\"delay_max\":%" PRIu64
           ",\"pack_us\":%.3f,\"steps\":%" PRIu64 "}\n",
           tally_makespan_ratio(tally), tally_imbalance(tally), tally_delay(tally),
           tally->delay_max, series_mean(&simulation->pack_us), tally->steps);
    fflush(stdout);
}

static void run_job(uint64_t steps, const char *text)
{
    struct config *config = NULL;
    struct corpus *corpus = NULL;
    struct simulation simulation;
    struct simulate_options options = { .steps = steps, .now_ns = thread_ns };
    struct error err = { 0 };
    if (config_parse("job", text, strlen(text), NULL, 0, &config, &err))
        die("configuration", &err);
    if (corpus_open(config->sources, config->source_count, config->vocab_size, NULL, NULL, &corpus,
                    &err))
        die("corpus", &err);
    if (simulate_run(config, corpus, &options, &simulation, &err))
        die("simulation", &err);
    print(&simulation);
    simulation_fini(&simulation);
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
