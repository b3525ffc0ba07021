#include <criterion/criterion.h>
#include <stdlib.h>

#include "pack/window_exchange.h"

#define COUNT 24

static void run(struct window_problem *problem, struct window_bin *bins, uint32_t *groups)
{
    struct window_exchange exchange = { 0 };
    window_count(problem, groups, bins);
    cr_assert_eq(window_exchange_run(&exchange, problem, bins, groups, NULL), 0);
    window_exchange_fini(&exchange);
}

/* 9 + 1 for 5 + 5: the same tokens, and less work. */
Test(window_exchange, uneven_pieces_go_for_even_ones)
{
    struct piece pieces[16] = {
        { .length = 9 }, { .length = 9 }, { .length = 5 }, { .length = 5 }
    };
    uint32_t groups[16] = { 0, 0, 1, 1, 0, 0 };
    for (size_t i = 4; i < 16; i++) {
        pieces[i] = (struct piece){ .length = 1 };
        groups[i] = i >= 6;
    }
    struct window_bin bins[2];
    struct window_problem problem = { .pieces = pieces, .count = 16, .bins = 2, .room = 20 };
    run(&problem, bins, groups);
    cr_assert_eq(bins[0].tokens, 20);
    cr_assert_eq(bins[0].work, 81 + 1 + 25 + 25);
    cr_assert_eq(bins[1].work, 81 + 1 + 10);
}

static uint64_t most_work(const struct window_problem *problem, const struct window_bin *bins)
{
    uint64_t most = 0;
    for (uint32_t b = problem->capped; b < problem->bins; b++)
        most = bins[b].work > most ? bins[b].work : most;
    return most;
}

/* Whatever the placing: nothing is lost, room and caps hold, the largest work does not rise. */
Test(window_exchange, keeps_what_it_must)
{
    srand(5);
    for (int trial = 0; trial < 300; trial++) {
        struct piece pieces[COUNT];
        uint32_t groups[COUNT], length = 200;
        struct window_bin before[4], bins[4];
        struct window_problem problem = { .pieces = pieces, .count = COUNT, .bins = 4 };
        for (size_t i = 0; i < COUNT; i++) {
            length -= (uint32_t)rand() % 8;
            pieces[i] = (struct piece){ .length = length };
            groups[i] = rand() % 9 ? (uint32_t)rand() % 4 : GROUP_NONE;
        }
        window_count(&problem, groups, before);
        problem.capped = (uint32_t)rand() % 4;
        for (uint32_t b = 0; b < 4; b++) {
            problem.room = before[b].tokens > problem.room ? before[b].tokens : problem.room;
            problem.cap = before[b].work > problem.cap ? before[b].work : problem.cap;
        }
        run(&problem, bins, groups);
        struct window_bin counted[4];
        window_count(&problem, groups, counted);
        int64_t tokens = 0;
        for (uint32_t b = 0; b < 4; b++) {
            cr_assert_eq(counted[b].work, bins[b].work);
            cr_assert_eq(counted[b].tokens, bins[b].tokens);
            cr_assert_leq(bins[b].tokens, problem.room);
            cr_assert(b >= problem.capped || bins[b].work <= problem.cap);
            tokens += (int64_t)bins[b].tokens - (int64_t)before[b].tokens;
        }
        cr_assert_eq(tokens, 0);
        cr_assert_leq(most_work(&problem, bins), most_work(&problem, before));
    }
}
