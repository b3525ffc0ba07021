/*
 * Planner states kept in memory, from which any step can be planned again (DESIGN section 3).
 *
 * Two kinds: a regular one every `spacing` steps, and the few positions that the planner left most
 * recently when it jumped elsewhere. Snapshots that were loaded count as regular, at whatever step.
 * When the regular ones grow too many or too large, the spacing doubles, and those go that leave no
 * gap beyond it: memory stays bounded however long the job, and the price is a longer run forward.
 * Thread: the planner's. Owner: the planner thread.
 */
#ifndef BALLAST_SERVE_CHECKPOINTS_H
#define BALLAST_SERVE_CHECKPOINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/plan.h"

#define CHECKPOINT_SPACING 64
#define CHECKPOINT_MOST 256
#define CHECKPOINT_MOST_BYTES ((size_t)32 << 20)
#define CHECKPOINT_RECENT 4

struct checkpoints {
    struct planner_state *states; /* regular ones, rising next_step; the first is step 0 */
    size_t count, capacity;
    size_t bytes; /* of the regular ones */
    uint64_t spacing;
    struct planner_state recent[CHECKPOINT_RECENT];
    bool recent_used[CHECKPOINT_RECENT];
    unsigned recent_next; /* to be replaced next */
};

void checkpoints_init(struct checkpoints *checkpoints);
void checkpoints_fini(struct checkpoints *checkpoints);

/* Is a regular state of `next_step` due, and not yet held? */
bool checkpoints_due(const struct checkpoints *checkpoints, uint64_t next_step);

/* Keeps the planner's state as a regular one, and thins. EX_OSERR: nothing was kept. */
int checkpoints_add(struct checkpoints *checkpoints, const struct planner *planner,
                    struct error *err);

/*
 * Keeps a state that was saved elsewhere as a regular one, unless its step is held already. Takes
 * the state over and zeroes it; on failure (EX_OSERR) it stays the caller's.
 */
int checkpoints_put(struct checkpoints *checkpoints, struct planner_state *state,
                    struct error *err);

/* Keeps the state of a planner that is about to jump. EX_OSERR: nothing was kept. */
int checkpoints_leave(struct checkpoints *checkpoints, const struct planner *planner,
                      struct error *err);

/* Drops every state behind `step`: what leads there is no longer what it was. */
void checkpoints_forget(struct checkpoints *checkpoints, uint64_t step);

/* The state with the largest next_step <= step, or NULL. Valid until the next add or leave. */
const struct planner_state *checkpoints_nearest(const struct checkpoints *checkpoints,
                                                uint64_t step);

#endif
