#include <criterion/criterion.h>
#include <string.h>

#include "pack/assignment_program.h"

static struct assignment_program program_of(uint32_t bins, uint32_t room, const uint32_t *lengths,
                                            uint32_t count)
{
    return (struct assignment_program){ .bins = bins,
                                        .room = room,
                                        .lengths = lengths,
                                        .length_count = count,
                                        .beat = 1e18,
                                        .node_limit = 100000,
                                        .time_limit_ms = 600000 };
}

static struct assignment_solution solve(const struct assignment_program *program, uint32_t *groups)
{
    struct assignment_solution solution;
    struct error err = { 0 };
    cr_assert_eq(assignment_solve(program, groups, &solution, &err), 0, "%s", err.text);
    return solution;
}

/* Of five equal pieces two must share a bin of four, although four fifths would be the mean. */
Test(assignment_program, whole_pieces_are_not_split)
{
    uint32_t lengths[] = { 40, 40, 40, 40, 40 }, groups[5], held[4] = { 0 };
    struct assignment_program program = program_of(4, 100, lengths, 5);
    struct assignment_solution solution = solve(&program, groups);
    cr_assert(solution.found);
    cr_assert_float_eq(solution.bound, 3200, 1);
    for (size_t i = 0; i < 5; i++)
        held[groups[i]]++;
    for (size_t b = 0; b < 4; b++)
        cr_assert_leq(held[b], 2);
}

Test(assignment_program, room_is_kept)
{
    /* By work alone 60 would be alone; by room 60 has to take 30 or 40, and 30 is less work. */
    uint32_t lengths[] = { 60, 50, 40, 30 }, groups[4];
    struct assignment_program program = program_of(2, 90, lengths, 4);
    struct assignment_solution solution = solve(&program, groups);
    cr_assert(solution.found);
    cr_assert_eq(groups[0], groups[3]);
    cr_assert_eq(groups[1], groups[2]);
    cr_assert_float_eq(solution.bound, 4500, 1 + 4500 * 1e-4);
}

Test(assignment_program, liquids_fill_what_is_left)
{
    uint32_t lengths[] = { 60 }, groups[1];
    struct assignment_program program = program_of(2, 100, lengths, 1);
    program.liquids[0] = (struct assignment_liquid){ .length = 20, .tokens = 100 };
    program.liquids[1] = (struct assignment_liquid){ .length = 10, .tokens = 30 };
    program.liquid_count = 2;
    struct assignment_solution solution = solve(&program, groups);
    /* 190 of 200 tokens: at least 30 more beside the 60, and there are 30 of the cheapest. */
    cr_assert_float_eq(solution.bound, 3600 + 30 * 10, 1);
}

Test(assignment_program, nothing_better_is_there)
{
    uint32_t lengths[] = { 40, 40, 40 }, groups[] = { 7, 7, 7 };
    struct assignment_program program = program_of(2, 100, lengths, 3);
    program.beat = 3199;
    struct assignment_solution solution = solve(&program, groups);
    cr_assert_not(solution.found);
    cr_assert_float_eq(solution.bound, 3199, 0.001);
    cr_assert_eq(groups[0], 7);
}

/* A capped bin takes what it can, so that the free one has less. */
Test(assignment_program, capped_bins_are_not_minimised)
{
    uint32_t lengths[] = { 50, 40, 30 }, groups[3];
    struct assignment_program program = program_of(2, 100, lengths, 3);
    program.capped = 1;
    program.cap = 5000;
    struct assignment_solution solution = solve(&program, groups);
    cr_assert(solution.found);
    cr_assert_eq(groups[0], 0);
    cr_assert_eq(groups[1], 0);
    cr_assert_eq(groups[2], 1);
    cr_assert_float_eq(solution.bound, 900, 1 + 900 * 1e-4);
}

Test(assignment_program, same_program_same_answer)
{
    uint32_t lengths[30], first[30], second[30];
    for (uint32_t i = 0; i < 30; i++)
        lengths[i] = 400 - 11 * i;
    struct assignment_program program = program_of(6, 1300, lengths, 30);
    program.node_limit = 50;
    struct assignment_solution a = solve(&program, first), b = solve(&program, second);
    cr_assert_eq(a.bound, b.bound);
    cr_assert_eq(a.nodes, b.nodes);
    cr_assert_leq(a.nodes, 60, "the search ends at its limit, but for what it is at");
    cr_assert_eq(a.found, b.found);
    if (a.found)
        cr_assert_eq(memcmp(first, second, sizeof first), 0);
}

Test(assignment_program, time_that_runs_out_is_an_error)
{
    uint32_t lengths[] = { 60, 50, 40, 30 }, groups[4];
    struct assignment_program program = program_of(2, 90, lengths, 4);
    program.time_limit_ms = 0;
    struct assignment_solution solution;
    struct error err = { 0 };
    cr_assert_eq(assignment_solve(&program, groups, &solution, &err), EX_TEMPFAIL);
    cr_assert(strstr(err.text, "packing.solver_time_ms"), "%s", err.text);
}
