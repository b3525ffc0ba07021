/*
 * How fast steps are planned and packed, on one core, from a file of document lengths:
 *
 *   bench_planning LENGTHS STEPS
 *
 * Prints one JSON object a line:
 *   {"what":"planning","policy":"wlb","n":4,"cp":c,"documents_per_second":r}  planner_step in a
 * loop: stream, pack, CP shards (`adaptive`), digest; documents are those that the stream handed
 * out
 *   {"what":"packing","policy":"wlb","n":n,"mean_us":m,"p99_us":p}  the packer alone, wants/offer/
 *       foresee/pack of a step, its pieces drawn from the stream beforehand
 * for the policies `wlb` and `adaptive`.
 * The settings are those of PAPER.md's calibration: window 128K, S_max twice that, thresholds 32K
 * and 80K, B = 24576. Every result is checked: what went in comes out or waits. A failed check, or
 * any error, ends with status 1. The first 10 steps warm up and count nowhere. Times are processor
 * time of the one thread, so that other programs on the machine matter little.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "clock.h"
#include "config/config.h"
#include "corpus/corpus.h"
#include "pack/pack.h"
#include "plan/plan.h"
#include "stream/stream.h"

#define WARM_UP_STEPS 10u

static void die(const char *what, const struct error *err)
{
    fprintf(stderr, "bench_planning: %s: %s\n", what, err->text);
    exit(1);
}

static void expect(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "bench_planning: wrong result: %s\n", what);
        exit(1);
    }
}

/* A job over `lengths` with n micro-batches a step and cp ranks; `wlb` alone looks at thresholds.
 */
static struct config *job_over(const char *lengths, const char *policy, unsigned n, unsigned cp)
{
    char text[4096];
    snprintf(text, sizeof text,
             "job: bench\n"
             "seed: 1\n"
             "sources: [{ name: lengths, format: lengths, paths: ['%s'], weight: 1,"
             " epochs: repeat }]\n"
             "vocab_size: 50257\n"
             "parallel: { dp: 1, pp: 4, cp: %u, tp: 8, microbatches: %u }\n"
             "context_window: 131072\n"
             "max_sequence_length: 262144\n"
             "packing: { policy: %s, outlier_thresholds: [32768, 81920] }\n"
             "sharding: { strategy: adaptive }\n"
             "cost: { crossover_tokens: 24576 }\n",
             lengths, cp, n, policy);
    struct config *config = NULL;
    struct error err = { 0 };
    if (config_parse("bench", text, strlen(text), NULL, 0, &config, &err))
        die("configuration", &err);
    return config;
}

static struct corpus *corpus_of(const struct config *config)
{
    struct corpus *corpus = NULL;
    struct error err = { 0 };
    if (corpus_open(config->sources, config->source_count, config->vocab_size, NULL, NULL, &corpus,
                    &err))
        die("corpus", &err);
    return corpus;
}

static void plan_one(struct planner *planner, struct step_plan *plan)
{
    struct error err = { 0 };
    if (planner_step(planner, plan, &err) != PLANNER_STEP)
        die("planner_step", &err);
}

static void bench_planner(const char *lengths, const char *policy, unsigned cp, unsigned steps)
{
    struct config *config = job_over(lengths, policy, 4, cp);
    struct corpus *corpus = corpus_of(config);
    struct planner *planner = NULL;
    struct step_plan plan = { 0 };
    struct error err = { 0 };
    if (planner_new(config, corpus, &planner, &err))
        die("planner_new", &err);

    uint64_t served = 0, documents_before = 0, start = 0;
    for (unsigned step = 0; step < WARM_UP_STEPS + steps; step++) {
        if (step == WARM_UP_STEPS) {
            documents_before = planner_cursors(planner)[0].documents;
            start = thread_ns();
        }
        plan_one(planner, &plan);
        served += plan.tokens;
    }
    double seconds = (double)(thread_ns() - start) / 1e9;
    uint64_t documents = planner_cursors(planner)[0].documents - documents_before;
    expect(served + plan.waiting.tokens == planner_cursors(planner)[0].tokens,
           "tokens served and waiting are not those that arrived");
    printf("{\"what\":\"planning\",\"policy\":\"%s\",\"n\":4,\"cp\":%u,"
           "\"documents_per_second\":%.0f}\n",
           policy, cp, (double)documents / seconds);
    step_plan_fini(&plan);
    planner_free(planner);
    corpus_close(corpus);
    config_free(config);
}

/* Pieces in stream order, as many as a packer can want and foresee in `steps` steps. */
struct supply {
    struct piece *pieces;
    uint32_t *lengths; /* of the pieces */
    size_t count, capacity, length_capacity, next;
};

static void fill_supply(struct supply *supply, const struct config *config,
                        const struct corpus *corpus, unsigned steps, uint64_t foreseen)
{
    struct stream_options options = { .seed = config->seed,
                                      .context_window = config->context_window,
                                      .long_documents = config->long_documents };
    struct stream *stream = NULL;
    struct error err = { 0 };
    if (stream_new(corpus, &options, &stream, &err))
        die("stream", &err);
    uint64_t wanted = (uint64_t)steps * (config_step_microbatches(config) + 1) *
                          config->context_window + /* a step may take one piece too many */
                      foreseen;
    for (uint64_t tokens = 0; tokens < wanted; supply->count++) {
        struct piece piece;
        expect(grow(supply->pieces, &supply->capacity, supply->count + 1) &&
                   grow(supply->lengths, &supply->length_capacity, supply->count + 1),
               "memory");
        expect(stream_next(stream, &piece), "a source that repeats has an end");
        supply->pieces[supply->count] = piece;
        supply->lengths[supply->count] = piece.length;
        tokens += piece.length;
    }
    stream_free(stream);
}

/* How many of the pieces that follow hold so many tokens: what a planner has at hand as well. */
static size_t pieces_ahead(const struct supply *supply, uint64_t tokens)
{
    size_t end = supply->next;
    for (uint64_t reached = 0; reached < tokens; reached += supply->lengths[end++])
        expect(end < supply->count, "the supply is too small");
    return end - supply->next;
}

/* One step through the packer; returns what it took in nanoseconds. */
static uint64_t pack_step(const struct pack_policy *policy, void *state, uint64_t step,
                          struct supply *supply, struct packing *packing)
{
    struct error err = { 0 };
    uint64_t start = thread_ns();
    while (policy->wants(state)) {
        expect(supply->next < supply->count, "the supply is too small");
        struct piece *piece = &supply->pieces[supply->next++];
        piece->arrived = step;
        if (policy->offer(state, piece, &err))
            die("offer", &err);
    }
    uint64_t took = thread_ns() - start;
    size_t ahead = policy->foresight ? pieces_ahead(supply, policy->foresight(state)) : 0;
    start = thread_ns();
    if (policy->foresee &&
        policy->foresee(state, step, supply->lengths + supply->next, ahead, &err))
        die("foresee", &err);
    if (policy->pack(state, false, packing, &err))
        die("pack", &err);
    return took + thread_ns() - start;
}

static void check_conservation(const struct pack_policy *policy, void *state,
                               const struct supply *supply, uint64_t served)
{
    uint64_t offered = 0, waiting = 0;
    for (size_t i = 0; i < supply->next; i++)
        offered += supply->pieces[i].length;
    size_t count = policy->waiting(state, NULL, 0);
    struct waiting_piece *held = calloc(count + 1, sizeof *held);
    expect(held != NULL, "memory");
    policy->waiting(state, held, count);
    for (size_t i = 0; i < count; i++)
        waiting += held[i].piece.length;
    free(held);
    expect(offered == served + waiting, "the packer lost or doubled tokens");
}

static void bench_packer(const char *lengths, const char *policy_name, unsigned n, unsigned steps)
{
    struct config *config = job_over(lengths, policy_name, n, 1);
    struct corpus *corpus = corpus_of(config);
    const struct pack_policy *policy = pack_policy_find(policy_name);
    struct pack_shape shape = { .microbatches = n,
                                .window = config->context_window,
                                .max_tokens = config->max_sequence_length };
    struct error err = { 0 };
    void *state = NULL;
    if (cost_model_init(&shape.cost, &config->cost, &err) ||
        policy->open(&shape, &config->packing, &state, &err))
        die("packer", &err);
    struct supply supply = { 0 };
    fill_supply(&supply, config, corpus, WARM_UP_STEPS + steps,
                policy->foresight ? policy->foresight(state) : 0);

    uint64_t *took = calloc(steps, sizeof *took), served = 0, total = 0;
    struct packing packing = { 0 };
    expect(took != NULL, "memory");
    for (unsigned step = 0; step < WARM_UP_STEPS + steps; step++) {
        uint64_t ns = pack_step(policy, state, step, &supply, &packing);
        served += packing.tokens;
        if (step >= WARM_UP_STEPS)
            total += took[step - WARM_UP_STEPS] = ns;
    }
    check_conservation(policy, state, &supply, served);
    printf("{\"what\":\"packing\",\"policy\":\"%s\",\"n\":%u,\"mean_us\":%.1f,\"p99_us\":%.1f}\n",
           policy_name, n, (double)total / steps / 1e3, (double)percentile(took, steps, 990) / 1e3);
    free(took);
    free(supply.pieces);
    free(supply.lengths);
    packing_fini(&packing);
    policy->close(state);
    corpus_close(corpus);
    config_free(config);
}

int main(int argc, char **argv)
{
    unsigned steps = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    if (steps == 0) {
        fprintf(stderr, "usage: bench_planning LENGTHS STEPS\n");
        return 64;
    }
    static const char *const policies[] = { "wlb", "adaptive" };
    for (int p = 0; p < 2; p++) {
        bench_planner(argv[1], policies[p], 1, steps);
        bench_planner(argv[1], policies[p], 8, steps);
        bench_packer(argv[1], policies[p], 4, steps);
        bench_packer(argv[1], policies[p], 64, steps / 16 + 1);
    }
    return 0;
}
