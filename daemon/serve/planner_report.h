/* What the planner tells operators: what waits where, and where each source stands. */
#ifndef BALLAST_SERVE_PLANNER_REPORT_H
#define BALLAST_SERVE_PLANNER_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "plan/plan.h"

/* What one place of a packer holds. */
struct waiting_place {
    char name[64];
    uint64_t pieces, tokens;
    uint64_t oldest; /* step in which the oldest arrived */
};

/* Where the planner stands between two steps. */
struct planner_report {
    uint64_t step; /* the next to be planned */
    struct waiting_place *places;
    size_t place_count, place_capacity;
    struct source_cursor *cursors; /* of every source of the corpus */
    size_t cursor_count;
};

/* NULL when out of memory. Call on the planner's thread. */
struct planner_report *planner_report_new(const struct planner *planner, size_t source_count);

/* NULL is accepted. */
void planner_report_free(struct planner_report *report);

#endif
