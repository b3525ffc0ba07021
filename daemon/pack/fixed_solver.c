/*
 * `fixed-solver`, the paper's third baseline: what `fixed-greedy` does by rule, done by integer
 * programming (window_solver.h). For studies: a window can take seconds, and what the library finds
 * depends on its version, which is therefore part of the job digest.
 */
#include <stdlib.h>

#include "pack/assignment_program.h"
#include "pack/policies.h"
#include "pack/window_solver.h"

#define PROVEN_GAP 1e-3 /* a window whose gap is below is as good as solved */

struct fixed_solver {
    struct fixed_windows windows; /* first: fixed_windows_* take this state as theirs */
    struct window_solver solver;
    uint64_t solved, proven; /* windows */
    uint64_t nodes, programs;
    double gap_sum, gap_max, greedy_gap_sum;
};

static double gap_of(uint64_t work, uint64_t bound)
{
    return bound > 0 && work > bound ? (double)(work - bound) / (double)bound : 0;
}

static void note(struct fixed_solver *state, const struct window_outcome *outcome)
{
    double gap = gap_of(outcome->achieved, outcome->bound);
    state->solved++;
    state->proven += gap < PROVEN_GAP;
    state->nodes += outcome->nodes;
    state->programs += outcome->programs;
    state->gap_sum += gap;
    state->gap_max = gap > state->gap_max ? gap : state->gap_max;
    state->greedy_gap_sum += gap_of(outcome->greedy, outcome->bound);
}

static int assign(void *state, const struct window_problem *problem, uint32_t *groups,
                  struct error *err)
{
    struct fixed_solver *solver = state;
    struct window_outcome outcome;
    int status = window_solve(&solver->solver, problem, groups, &outcome, err);
    if (status == 0)
        note(solver, &outcome);
    return status;
}

static void solver_close(void *state)
{
    struct fixed_solver *solver = state;
    if (!solver)
        return;
    fixed_windows_fini(&solver->windows);
    window_solver_fini(&solver->solver);
    free(solver);
}

static int solver_open(const struct pack_shape *shape, const struct pack_options *options,
                       void **ret_state, struct error *err)
{
    struct fixed_solver *solver = calloc(1, sizeof *solver);
    if (!solver)
        return error_memory(err, "opening the packer");
    int status = fixed_windows_init(&solver->windows, shape, options, assign, err);
    if (status == 0)
        status = window_solver_init(&solver->solver, shape, options, err);
    if (status)
        solver_close(solver);
    else
        *ret_state = solver;
    return status;
}

static size_t solver_facts(const void *state, struct pack_fact *facts, size_t capacity)
{
    const struct fixed_solver *solver = state;
    double windows = solver->solved > 0 ? (double)solver->solved : 1;
    const struct pack_fact all[] = {
        { "windows", (double)solver->solved },
        { "gap_mean", solver->gap_sum / windows },
        { "gap_max", solver->gap_max },
        { "greedy_gap_mean", solver->greedy_gap_sum / windows },
        { "proven_share", (double)solver->proven / windows },
        { "programs", (double)solver->programs },
        { "nodes", (double)solver->nodes },
    };
    size_t count = sizeof all / sizeof *all;
    for (size_t i = 0; i < count && i < capacity; i++)
        facts[i] = all[i];
    return count;
}

const struct pack_policy pack_fixed_solver = {
    .name = "fixed-solver",
    .study_only = "a step may take seconds, and its plans depend on the solver library's version",
    .open = solver_open,
    .close = solver_close,
    .wants = fixed_windows_wants,
    .offer = fixed_windows_offer,
    .pack = fixed_windows_pack,
    .waiting = fixed_windows_waiting,
    .restore = fixed_windows_restore,
    .place_name = fixed_windows_place_name,
    .facts = solver_facts,
    .depends_on = assignment_library,
};
