/* `fixed-solver` on the paper's case: better balance than `fixed-greedy`, within its own gap. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plan/plan.h"

#define LENGTHS BALLAST_SOURCE_DIR "/../shared/data/lengths-wlbllm.txt"
#define STEPS 48

/* Sum over steps of max / mean workload; the policy's facts of all steps. */
static double imbalance_of(const char *policy, unsigned window, unsigned seed,
                           struct pack_fact *facts, size_t *ret_facts)
{
    char yaml[1024];
    int bytes =
        snprintf(yaml, sizeof yaml,
                 "job: paper\nseed: %u\ncontext_window: 131072\nparallel: { microbatches: 4 }\n"
                 "cost: { crossover_tokens: 24576 }\npacking: { policy: %s, window: %u }\n"
                 "sources: [{ name: a, format: lengths, paths: ['%s'] }]\n",
                 seed, policy, window, LENGTHS);
    struct config *config;
    struct corpus *corpus;
    struct planner *planner;
    struct step_plan plan = { 0 };
    struct error err = { 0 };
    cr_assert_eq(config_parse("paper", yaml, (size_t)bytes, NULL, 0, &config, &err), 0, "%s",
                 err.text);
    cr_assert_eq(corpus_open(config->sources, 1, 0, NULL, NULL, &corpus, &err), 0, "%s", err.text);
    cr_assert_eq(planner_new(config, corpus, &planner, &err), 0, "%s", err.text);
    double sum = 0;
    for (unsigned step = 0; step < STEPS; step++) {
        cr_assert_eq(planner_step(planner, &plan, &err), PLANNER_STEP, "%s", err.text);
        sum += step_plan_imbalance(&plan);
    }
    const void *state;
    const struct pack_policy *found = planner_policy(planner, &state);
    *ret_facts = found->facts ? found->facts(state, facts, PACK_MAX_FACTS) : 0;
    step_plan_fini(&plan);
    planner_free(planner);
    corpus_close(corpus);
    config_free(config);
    return sum / STEPS;
}

static double fact(const struct pack_fact *facts, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(facts[i].name, name) == 0)
            return facts[i].value;
    cr_assert(false, "there is no fact %s", name);
    return 0;
}

/* N = 4, S = 128K, windows of 1, 2 and 4 global batches, means over three shuffles. */
Test(property_solver_paper, beats_greedy_on_the_papers_case, .timeout = 110)
{
    if (access(LENGTHS, R_OK) != 0)
        cr_skip_test("../shared/data is not here");
    for (unsigned window = 1; window <= 4; window *= 2) {
        double greedy = 0, solver = 0;
        for (unsigned seed = 1; seed <= 3; seed++) {
            struct pack_fact facts[PACK_MAX_FACTS];
            size_t count;
            greedy += imbalance_of("fixed-greedy", window, seed, facts, &count);
            solver += imbalance_of("fixed-solver", window, seed, facts, &count);
            cr_assert_eq(fact(facts, count, "windows"), STEPS / window);
            cr_assert_lt(fact(facts, count, "gap_max"), 0.05);
            cr_assert_leq(fact(facts, count, "gap_mean"), fact(facts, count, "greedy_gap_mean"));
        }
        cr_assert_lt(solver, greedy, "window %u: %.4f against %.4f", window, solver / 3,
                     greedy / 3);
    }
}
