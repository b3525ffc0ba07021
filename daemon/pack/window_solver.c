#include "pack/window_solver.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/wide.h"
#include "pack/assignment_program.h"

#define LONG_FRACTION 16u   /* pieces of S / 16 and more are long: few, and nearly all the work */
#define MOST_CHOICES 4096u  /* long pieces x bins in one program */
#define SLACK_FRACTION 64u  /* a placing may let S / 64 tokens more wait than another */
#define NEAR_OPTIMUM 10000u /* a largest work within 1 / 10000 of its bound is good enough */

/* The bins and pieces that are not settled yet. */
/* The bins and pieces that are not settled yet; capped bins are companions, the others free. */
struct window_stage {
    struct window_problem problem; /* over `pieces` */
    struct piece *pieces;
    size_t *places; /* of each piece in the whole window */
    uint32_t *groups, *trial;
    struct window_bin *bins, *trial_bins;
    uint32_t *lengths; /* of the long pieces */
    bool *counts;      /* [place in the window] the bound counts this piece */
    size_t piece_capacity, place_capacity, group_capacity, trial_capacity, length_capacity,
        counts_capacity;
    struct window_exchange exchange;
    uint64_t nodes_left;
};

int window_solver_init(struct window_solver *solver, const struct pack_shape *shape,
                       const struct pack_options *options, struct error *err)
{
    size_t bins = (size_t)shape->microbatches * options->window;
    solver->step_bins = shape->microbatches;
    solver->node_limit = options->solver_nodes;
    solver->time_limit_ms = options->solver_time_ms;
    solver->stage = calloc(1, sizeof *solver->stage);
    if (!solver->stage)
        return error_memory(err, "opening the packer");
    solver->stage->bins = calloc(bins, sizeof *solver->stage->bins);
    solver->stage->trial_bins = calloc(bins, sizeof *solver->stage->bins);
    return solver->stage->bins && solver->stage->trial_bins
               ? 0
               : error_memory(err, "opening the packer");
}

void window_solver_fini(struct window_solver *solver)
{
    struct window_stage *stage = solver->stage;
    if (!stage)
        return;
    free(stage->pieces);
    free(stage->places);
    free(stage->groups);
    free(stage->trial);
    free(stage->bins);
    free(stage->trial_bins);
    free(stage->lengths);
    free(stage->counts);
    window_exchange_fini(&stage->exchange);
    free(stage);
    solver->stage = NULL;
}

/* The free bin of most work; there is one. */
static uint32_t heaviest(const struct window_stage *stage, const struct window_bin *bins)
{
    uint32_t most = stage->problem.capped;
    for (uint32_t b = most + 1; b < stage->problem.bins; b++)
        if (bins[b].work > bins[most].work)
            most = b;
    return most;
}

static uint64_t placed_tokens(const struct window_bin *bins, uint32_t count)
{
    uint64_t tokens = 0;
    for (uint32_t b = 0; b < count; b++)
        tokens += bins[b].tokens;
    return tokens;
}

static void clear_groups(uint32_t *groups, size_t count)
{
    for (size_t i = 0; i < count; i++)
        groups[i] = GROUP_NONE;
}

/* The program's answer comes from floating point: what it promises is checked in integers. */
static bool valid(const struct window_stage *stage, const struct window_bin *bins)
{
    for (uint32_t b = 0; b < stage->problem.bins; b++)
        if (bins[b].tokens > stage->problem.room ||
            (b < stage->problem.capped && bins[b].work > stage->problem.cap))
            return false;
    return true;
}

/* Takes the trial over if its largest work is less, and hardly more has to wait. */
static void keep_better(struct window_stage *stage)
{
    uint32_t count = stage->problem.bins;
    uint64_t now = placed_tokens(stage->bins, count);
    uint64_t then = placed_tokens(stage->trial_bins, count);
    if (then + stage->problem.room / SLACK_FRACTION < now ||
        stage->trial_bins[heaviest(stage, stage->trial_bins)].work >=
            stage->bins[heaviest(stage, stage->bins)].work)
        return;
    memcpy(stage->bins, stage->trial_bins, count * sizeof *stage->bins);
    memcpy(stage->groups, stage->trial, stage->problem.count * sizeof *stage->groups);
}

/* Places what the trial has not placed yet, and takes it over if it is better. */
static int complete_trial(struct window_stage *stage, struct error *err)
{
    window_count(&stage->problem, stage->trial, stage->trial_bins);
    if (!valid(stage, stage->trial_bins))
        return 0;
    window_fill(&stage->problem, stage->trial_bins, stage->trial);
    int status = window_exchange_run(&stage->exchange, &stage->problem, stage->trial_bins,
                                     stage->trial, err);
    if (status == 0)
        keep_better(stage);
    return status;
}

static int try_greedy(struct window_stage *stage, struct error *err)
{
    clear_groups(stage->trial, stage->problem.count);
    return complete_trial(stage, err);
}

/* ---- what no placing can beat ---- */

/* Least work of `tokens` tokens cut out of the placed pieces, the shortest first. */
static uint64_t least_work(const struct window_stage *stage, uint64_t tokens)
{
    uint64_t work = 0;
    for (size_t i = stage->problem.count; i-- > 0 && tokens > 0;) {
        uint64_t length = stage->pieces[i].length;
        if (stage->groups[i] == GROUP_NONE)
            continue;
        uint64_t taken = length < tokens ? length : tokens;
        work += taken * length;
        tokens -= taken;
    }
    return work;
}

/*
 * The mean of the free bins when the companions take all they can; and, when there are none, the
 * bin of the longest piece, which has to be filled up: all bins together have no more room to spare
 * than the placed pieces leave.
 */
static uint64_t simple_bound(const struct window_stage *stage)
{
    const struct window_problem *problem = &stage->problem;
    uint32_t free_bins = problem->bins - problem->capped;
    wide work = 0, companions = (wide)problem->cap * problem->capped;
    for (uint32_t b = 0; b < problem->bins; b++)
        work += stage->bins[b].work;
    uint64_t mean =
        work > companions ? (uint64_t)((work - companions + free_bins - 1) / free_bins) : 0;
    if (problem->capped > 0)
        return mean;
    uint64_t longest = 0;
    for (size_t i = 0; i < problem->count && !longest; i++)
        if (stage->groups[i] != GROUP_NONE)
            longest = stage->pieces[i].length;
    uint64_t room = problem->room;
    uint64_t spare = problem->bins * room - placed_tokens(stage->bins, problem->bins);
    uint64_t fill = longest + spare < room ? room - longest - spare : 0;
    uint64_t around = longest * longest + least_work(stage, fill);
    return mean > around ? mean : around;
}

/* ---- the program ---- */

/* Long pieces come first; returns how many the program decides on. Any that waits ends them. */
static uint32_t count_long(const struct window_stage *stage)
{
    uint32_t count = 0, most = MOST_CHOICES / stage->problem.bins;
    while (count < stage->problem.count && count < most && stage->groups[count] != GROUP_NONE &&
           stage->pieces[count].length >= stage->problem.room / LONG_FRACTION)
        count++;
    return count;
}

/* Grid of lengths: the longest short piece, its halves, and the shortest piece. */
static void lay_grid(struct assignment_program *program, uint32_t longest, uint32_t shortest)
{
    double length = longest;
    while (length > shortest && program->liquid_count + 1 < ASSIGNMENT_LIQUIDS) {
        program->liquids[program->liquid_count++].length = length;
        length /= 2;
    }
    program->liquids[program->liquid_count++].length = shortest;
}

/* Pours a piece into the two liquids around its length, falling along the grid. */
static void pour(struct assignment_program *program, uint32_t length)
{
    uint32_t below = 0;
    while (below + 1 < program->liquid_count && program->liquids[below].length > length)
        below++;
    if (below == 0) {
        program->liquids[0].tokens += length;
        return;
    }
    struct assignment_liquid *high = &program->liquids[below - 1], *low = &program->liquids[below];
    double share = (length - low->length) / (high->length - low->length);
    high->tokens += share * length;
    low->tokens += (1 - share) * length;
}

static void pour_short(struct window_stage *stage, struct assignment_program *program)
{
    size_t first = program->length_count, count = stage->problem.count, last = count;
    while (first < count && stage->groups[first] == GROUP_NONE)
        first++;
    while (last > first && stage->groups[last - 1] == GROUP_NONE)
        last--;
    if (first == last)
        return;
    lay_grid(program, stage->pieces[first].length, stage->pieces[last - 1].length);
    for (size_t i = first; i < last; i++)
        if (stage->groups[i] != GROUP_NONE)
            pour(program, stage->pieces[i].length);
}

/* *bound rises to what the program proves of the pieces placed now. */
static int try_program(struct window_solver *solver, uint64_t *bound,
                       struct window_outcome *outcome, struct error *err)
{
    struct window_stage *stage = solver->stage;
    uint64_t top = stage->bins[heaviest(stage, stage->bins)].work;
    uint64_t better = top - top / NEAR_OPTIMUM;
    struct assignment_program program = { .bins = stage->problem.bins,
                                          .room = stage->problem.room,
                                          .lengths = stage->lengths,
                                          .length_count = count_long(stage),
                                          .beat = (double)better,
                                          .capped = stage->problem.capped,
                                          .cap = (double)stage->problem.cap,
                                          .node_limit = stage->nodes_left,
                                          .time_limit_ms = solver->time_limit_ms };
    if (program.length_count < 2)
        return 0;
    for (uint32_t i = 0; i < program.length_count; i++)
        stage->lengths[i] = stage->pieces[i].length;
    pour_short(stage, &program);
    clear_groups(stage->trial, stage->problem.count);
    struct assignment_solution solution;
    int status = assignment_solve(&program, stage->trial, &solution, err);
    if (status)
        return status;
    outcome->programs++;
    outcome->nodes += solution.nodes;
    stage->nodes_left -= solution.nodes < stage->nodes_left ? solution.nodes : stage->nodes_left;
    if (solution.bound > (double)*bound)
        *bound = (uint64_t)solution.bound;
    return solution.found ? complete_trial(stage, err) : 0;
}

/* ---- stage by stage ---- */

static int load(struct window_stage *stage, const struct window_problem *problem, struct error *err)
{
    size_t count = problem->count;
    if (!grow(stage->pieces, &stage->piece_capacity, count) ||
        !grow(stage->places, &stage->place_capacity, count) ||
        !grow(stage->groups, &stage->group_capacity, count) ||
        !grow(stage->trial, &stage->trial_capacity, count) ||
        !grow(stage->lengths, &stage->length_capacity, count) ||
        !grow(stage->counts, &stage->counts_capacity, count))
        return error_memory(err, "packing");
    stage->problem = *problem;
    stage->problem.pieces = stage->pieces;
    for (size_t i = 0; i < count; i++) {
        stage->pieces[i] = problem->pieces[i];
        stage->places[i] = i;
    }
    clear_groups(stage->groups, count);
    window_count(&stage->problem, stage->groups, stage->bins);
    window_fill(&stage->problem, stage->bins, stage->groups);
    for (size_t i = 0; i < count; i++)
        stage->counts[i] = stage->groups[i] != GROUP_NONE;
    return 0;
}

/* Betters the placing of what is left; returns through `ret_bound` what nothing can beat. */
static int refine(struct window_solver *solver, uint64_t *ret_bound, struct window_outcome *outcome,
                  struct error *err)
{
    struct window_stage *stage = solver->stage;
    int status = try_greedy(stage, err);
    if (status)
        return status;
    uint64_t bound = simple_bound(stage);
    uint64_t top = stage->bins[heaviest(stage, stage->bins)].work;
    if (top - top / NEAR_OPTIMUM > bound && stage->nodes_left > 0 && stage->problem.bins > 1)
        status = try_program(solver, &bound, outcome, err);
    *ret_bound = bound;
    return status;
}

/* Exchanges two bins' indices. */
static void rename_bins(struct window_stage *stage, uint32_t a, uint32_t b)
{
    struct window_bin kept = stage->bins[a];
    stage->bins[a] = stage->bins[b];
    stage->bins[b] = kept;
    for (size_t i = 0; i < stage->problem.count; i++)
        if (stage->groups[i] == a || stage->groups[i] == b)
            stage->groups[i] = stage->groups[i] == a ? b : a;
}

/* Writes the last bin down as bin `number` of the window. */
static void settle_last(struct window_stage *stage, uint32_t number, uint32_t *groups)
{
    uint32_t last = --stage->problem.bins;
    size_t kept = 0;
    for (size_t i = 0; i < stage->problem.count; i++) {
        if (stage->groups[i] == last) {
            groups[stage->places[i]] = number;
            continue;
        }
        stage->pieces[kept] = stage->pieces[i];
        stage->places[kept] = stage->places[i];
        stage->groups[kept] = stage->groups[i];
        kept++;
    }
    stage->problem.count = kept;
}

/* Settles the heaviest bin, and makes the N - 1 next ones its companions. */
static void settle_heaviest(struct window_stage *stage, uint32_t companions, uint32_t number,
                            uint32_t *groups)
{
    stage->problem.capped = 0;
    uint32_t top = heaviest(stage, stage->bins);
    stage->problem.cap = stage->bins[top].work;
    rename_bins(stage, top, stage->problem.bins - 1);
    settle_last(stage, number, groups);
    while (stage->problem.capped < companions && stage->problem.capped < stage->problem.bins) {
        rename_bins(stage, heaviest(stage, stage->bins), stage->problem.capped);
        stage->problem.capped++;
    }
}

/* Settles the companions: they come first, so the free bins change places with them. */
static uint32_t settle_companions(struct window_stage *stage, uint32_t number, uint32_t *groups)
{
    for (; stage->problem.capped > 0; number++) {
        stage->problem.capped--;
        rename_bins(stage, stage->problem.capped, stage->problem.bins - 1);
        settle_last(stage, number, groups);
    }
    return number;
}

/* The bound was proven of the pieces placed at first; some may wait now, others be placed. */
static uint64_t final_bound(const struct window_stage *stage, const struct window_problem *problem,
                            const uint32_t *groups, uint64_t bound)
{
    wide work = 0;
    uint64_t longest = 0, gone = 0;
    for (size_t i = 0; i < problem->count; i++) {
        uint64_t length = problem->pieces[i].length;
        if (groups[i] != GROUP_NONE) {
            work += length * length;
            longest = length > longest ? length : longest;
        } else if (stage->counts[i]) {
            /* Poured back into any bin it would add this much at most; a long one cannot be. */
            gone += length < problem->room / LONG_FRACTION ? length * length : bound;
        }
    }
    uint64_t simple = (uint64_t)((work + problem->bins - 1) / problem->bins);
    simple = longest * longest > simple ? longest * longest : simple;
    uint64_t proven = bound > gone ? bound - gone : 0;
    return proven > simple ? proven : simple;
}

/*
 * First the largest work of all is made small: that is the paper's program. Its bin is settled; the
 * other N - 1 of its step may have as much, so they take what they can (again a program), and the
 * next step begins with the heaviest of the rest.
 */
static int solve_stages(struct window_solver *solver, uint32_t *groups,
                        struct window_outcome *outcome, uint64_t *ret_bound, struct error *err)
{
    struct window_stage *stage = solver->stage;
    int status = refine(solver, ret_bound, outcome, err);
    if (status)
        return status;
    outcome->achieved = stage->bins[heaviest(stage, stage->bins)].work;
    for (uint32_t number = 0; stage->problem.bins > 0;) {
        settle_heaviest(stage, solver->step_bins - 1, number++, groups);
        uint64_t bound;
        if (stage->problem.capped < stage->problem.bins)
            status = refine(solver, &bound, outcome, err);
        if (status)
            return status;
        number = settle_companions(stage, number, groups);
    }
    return 0;
}

int window_solve(struct window_solver *solver, const struct window_problem *problem,
                 uint32_t *groups, struct window_outcome *ret_outcome, struct error *err)
{
    struct window_stage *stage = solver->stage;
    struct window_outcome outcome = { 0 };
    int status = load(stage, problem, err);
    if (status)
        return status;
    clear_groups(groups, problem->count);
    outcome.greedy = stage->bins[heaviest(stage, stage->bins)].work;
    stage->nodes_left = solver->node_limit;
    uint64_t bound = 0;
    status = solve_stages(solver, groups, &outcome, &bound, err);
    if (status)
        return status;
    outcome.bound = final_bound(stage, problem, groups, bound);
    *ret_outcome = outcome;
    return 0;
}
