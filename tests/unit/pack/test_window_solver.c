#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "feed.h"
#include "pack/window_solver.h"

#define MOST_PIECES 200
#define BINS 3u

struct case_of {
    struct piece pieces[MOST_PIECES];
    uint32_t groups[MOST_PIECES], greedy[MOST_PIECES];
    struct window_problem problem;
    struct window_outcome outcome;
};

static void solve(struct case_of *of, uint32_t step_bins, uint32_t bins)
{
    struct window_solver solver = { 0 };
    struct pack_shape shape = { .microbatches = step_bins };
    struct pack_options options = { .window = bins / step_bins,
                                    .solver_nodes = 100000,
                                    .solver_time_ms = 600000 };
    struct error err = { 0 };
    cr_assert_eq(window_solver_init(&solver, &shape, &options, &err), 0);
    of->problem.pieces = of->pieces;
    of->problem.bins = bins;
    cr_assert_eq(window_solve(&solver, &of->problem, of->groups, &of->outcome, &err), 0, "%s",
                 err.text);
    window_solver_fini(&solver);
}

static void draw_pieces(struct case_of *of, size_t count, uint32_t most)
{
    of->problem.count = count;
    uint32_t length = most;
    for (size_t i = 0; i < count; i++) {
        of->pieces[i] = (struct piece){ .document = i, .length = length };
        length -= (uint32_t)rand() % (most / (uint32_t)count + 1);
    }
}

/* The least largest work over every placing of all the pieces; UINT64_MAX if they do not fit. */
static uint64_t optimum(const struct window_problem *problem, size_t at, uint64_t *works,
                        uint32_t *tokens)
{
    uint64_t best = UINT64_MAX, most = 0;
    for (uint32_t b = 0; b < problem->bins; b++)
        most = works[b] > most ? works[b] : most;
    if (at == problem->count)
        return most;
    uint32_t length = problem->pieces[at].length;
    for (uint32_t b = 0; b < problem->bins; b++) {
        if (tokens[b] + length > problem->room)
            continue;
        works[b] += (uint64_t)length * length;
        tokens[b] += length;
        uint64_t found = optimum(problem, at + 1, works, tokens);
        best = found < best ? found : best;
        works[b] -= (uint64_t)length * length;
        tokens[b] -= length;
        if (tokens[b] == 0)
            break; /* empty bins are alike */
    }
    return best;
}

static void check_placing(const struct case_of *of)
{
    struct window_bin bins[MOST_PIECES];
    window_count(&of->problem, of->groups, bins);
    uint64_t most = 0;
    for (uint32_t b = 0; b < of->problem.bins; b++) {
        cr_assert_leq(bins[b].tokens, of->problem.room);
        most = bins[b].work > most ? bins[b].work : most;
    }
    cr_assert_eq(most, of->outcome.achieved);
    cr_assert_leq(of->outcome.bound, of->outcome.achieved);
    cr_assert_leq(of->outcome.achieved, of->outcome.greedy);
}

/* All pieces are long, so the program is exact: it finds what trying everything finds. */
Test(window_solver, finds_the_optimum, .timeout = 60)
{
    srand(17);
    int better = 0;
    for (int trial = 0; trial < 60; trial++) {
        struct case_of of = { 0 };
        draw_pieces(&of, 9, 100);
        uint64_t tokens = 0;
        for (size_t i = 0; i < 9; i++)
            tokens += of.pieces[i].length;
        of.problem.room = (uint32_t)(tokens / BINS) + 60;
        solve(&of, BINS, BINS);
        check_placing(&of);
        uint64_t best = optimum(&of.problem, 0, (uint64_t[BINS]){ 0 }, (uint32_t[BINS]){ 0 });
        cr_assert_leq(of.outcome.bound, best);
        cr_assert_geq(of.outcome.achieved, best);
        cr_assert_leq(of.outcome.achieved - best, best / 5000, "trial %d: %lu, optimum %lu", trial,
                      of.outcome.achieved, best);
        better += of.outcome.achieved < of.outcome.greedy;
    }
    cr_assert_gt(better, 10, "greedy placing leaves something to win");
}

/* Short pieces are poured: the bound must hold all the same, with full bins and with spare room. */
Test(window_solver, the_bound_is_below_every_placing, .timeout = 60)
{
    srand(23);
    for (int trial = 0; trial < 60; trial++) {
        struct case_of of = { 0 };
        of.problem.count = 10;
        of.problem.room = 3000;
        uint32_t lengths[] = { 1800, 900, 700 };
        for (uint32_t i = 0; i < 10; i++) {
            uint32_t length = i < 3 ? lengths[i] : 180 - 17 * (i - 3);
            of.pieces[i] = (struct piece){ .length = length - (uint32_t)rand() % 10 };
        }
        if (trial % 2) /* hardly any spare room */
            of.problem.room = 1800 + (uint32_t)rand() % 100;
        solve(&of, BINS, BINS);
        check_placing(&of);
        uint64_t best = optimum(&of.problem, 0, (uint64_t[BINS]){ 0 }, (uint32_t[BINS]){ 0 });
        cr_assert_leq(of.outcome.bound, best, "trial %d", trial);
    }
}

/* Two steps of two: the heavy micro-batch gets a heavy companion, the other step stays light. */
Test(window_solver, heavy_pieces_share_a_step)
{
    struct case_of of = { 0 };
    uint32_t lengths[] = { 90, 80, 30, 30, 30, 30, 10, 10, 10, 10, 10, 10 };
    of.problem.count = 12;
    of.problem.room = 100;
    for (size_t i = 0; i < 12; i++)
        of.pieces[i] = (struct piece){ .length = lengths[i] };
    solve(&of, 2, 4);
    check_placing(&of);
    cr_assert_eq(of.outcome.achieved, 90 * 90);
    struct window_bin bins[4];
    window_count(&of.problem, of.groups, bins);
    int of_80 = 0, light = 0;
    for (uint32_t b = 0; b < 4; b++) {
        of_80 += bins[b].work == 80 * 80 + 2 * 10 * 10;
        light += bins[b].work == 2 * 30 * 30 + 2 * 10 * 10;
    }
    cr_assert_eq(of_80, 1, "the companion takes what it can");
    cr_assert_eq(light, 2);
}

Test(window_solver, same_window_same_placing)
{
    struct case_of a = { 0 }, b = { 0 };
    srand(31);
    draw_pieces(&a, 150, 4000);
    a.problem.room = 40000;
    memcpy(&b, &a, sizeof a);
    solve(&a, 4, 8);
    solve(&b, 4, 8);
    check_placing(&a);
    cr_assert_eq(memcmp(a.groups, b.groups, 150 * sizeof *a.groups), 0);
    cr_assert_eq(a.outcome.nodes, b.outcome.nodes);
}

/* More pieces than the window holds, an empty window, one bin, one piece. */
Test(window_solver, windows_at_the_edges)
{
    struct case_of of = { 0 };
    draw_pieces(&of, 100, 1000);
    of.problem.room = 1200;
    solve(&of, 2, 4);
    check_placing(&of);
    struct case_of none = { .problem = { .room = 10 } };
    solve(&none, 2, 4);
    cr_assert_eq(none.outcome.achieved, 0);
    struct case_of one = { .problem = { .room = 10, .count = 1 } };
    one.pieces[0].length = 10;
    solve(&one, 1, 1);
    check_placing(&one);
    cr_assert_eq(one.outcome.bound, 100);
}
