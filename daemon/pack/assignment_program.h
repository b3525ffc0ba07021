/*
 * The integer program of `fixed-solver`, behind which the solver library hides:
 *     minimise the largest work of a bin, so that every long piece is in one bin and no bin holds
 *     more than its room;
 * work being the sum of squared lengths. Short pieces are poured in like liquids: a piece between
 * two lengths of a grid is the mixture of those two that has its tokens and its work. Any placing
 * of the short pieces is a pouring too, so the optimum is never above that of the whole pieces.
 *
 * The library works in double precision, so solutions are hints that the caller checks in integers.
 * The search ends after a number of nodes, never by the clock: the same program gives the same
 * answer. Any thread, blocking for as long as the search takes.
 */
#ifndef BALLAST_PACK_ASSIGNMENT_PROGRAM_H
#define BALLAST_PACK_ASSIGNMENT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define ASSIGNMENT_LIQUIDS 8

struct assignment_liquid {
    double length; /* work of one of its tokens */
    double tokens;
};

struct assignment_program {
    uint32_t bins, room;     /* room in tokens, of each bin */
    const uint32_t *lengths; /* of the long pieces, longest first */
    uint32_t length_count;
    struct assignment_liquid liquids[ASSIGNMENT_LIQUIDS];
    uint32_t liquid_count;
    uint32_t capped;     /* the first of the bins: their work is not minimised, but bounded ... */
    double cap;          /* ... by this */
    double beat;         /* only a largest work below this is looked for */
    uint64_t node_limit; /* >= 1 */
    uint32_t time_limit_ms;
};

struct assignment_solution {
    double bound;   /* proven: no solution has less than the smaller of this and `beat` */
    uint64_t nodes; /* of the search tree */
    bool found;     /* `groups` are filled */
};

/*
 * Solves the program. groups[0 .. length_count) are the bins of the long pieces when one was found.
 * EX_TEMPFAIL when the clock ran out before the node limit, EX_SOFTWARE when the library fails.
 */
int assignment_solve(const struct assignment_program *program, uint32_t *groups,
                     struct assignment_solution *ret_solution, struct error *err);

/* Name and version of the library, which decides what is found: "GLPK 5.0". */
const char *assignment_library(void);

#endif
