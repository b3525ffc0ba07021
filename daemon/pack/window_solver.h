/*
 * Gives the pieces of a window bins so that the largest work is small, then the second largest, and
 * so on: an integer program (assignment_program.h) at every stage that has something to win, greedy
 * placing (fixed_windows.h) to start from and for short pieces. Never worse than greedy placing.
 */
#ifndef BALLAST_PACK_WINDOW_SOLVER_H
#define BALLAST_PACK_WINDOW_SOLVER_H

#include "pack/fixed_windows.h"
#include "pack/window_exchange.h"

struct window_solver {
    uint64_t node_limit;        /* of all the programs of a window together */
    uint32_t time_limit_ms;     /* of one program; when it is hit packing fails */
    uint32_t step_bins;         /* N */
    struct window_stage *stage; /* working memory */
};

/* What is known of the window's largest work, a sum of squared lengths. */
struct window_outcome {
    uint64_t achieved;
    uint64_t bound;  /* no placing of the same pieces has less */
    uint64_t greedy; /* what greedy placing has */
    uint64_t nodes;
    uint32_t programs;
};

/* EX_OSERR when out of memory; fini is right after success and after failure. */
int window_solver_init(struct window_solver *solver, const struct pack_shape *shape,
                       const struct pack_options *options, struct error *err);
void window_solver_fini(struct window_solver *solver);

/* Errors as of assignment_solve, or EX_OSERR. */
int window_solve(struct window_solver *solver, const struct window_problem *problem,
                 uint32_t *groups, struct window_outcome *ret_outcome, struct error *err);

#endif
