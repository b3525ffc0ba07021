#include "serve/checkpoints.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void checkpoints_init(struct checkpoints *checkpoints)
{
    *checkpoints = (struct checkpoints){ .spacing = CHECKPOINT_SPACING };
}

void checkpoints_fini(struct checkpoints *checkpoints)
{
    for (size_t i = 0; i < checkpoints->count; i++)
        planner_state_fini(&checkpoints->states[i]);
    for (size_t i = 0; i < CHECKPOINT_RECENT; i++)
        planner_state_fini(&checkpoints->recent[i]);
    free(checkpoints->states);
    *checkpoints = (struct checkpoints){ 0 };
}

static size_t state_bytes(const struct planner_state *state)
{
    return sizeof *state + state->cursor_capacity * sizeof *state->cursors +
           state->waiting_capacity * sizeof *state->waiting;
}

/* How many regular states have next_step <= step. */
static size_t count_up_to(const struct checkpoints *checkpoints, uint64_t step)
{
    size_t low = 0, high = checkpoints->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (checkpoints->states[middle].next_step <= step)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool checkpoints_due(const struct checkpoints *checkpoints, uint64_t next_step)
{
    if (next_step % checkpoints->spacing != 0)
        return false;
    size_t up_to = count_up_to(checkpoints, next_step);
    return up_to == 0 || checkpoints->states[up_to - 1].next_step != next_step;
}

static bool too_many(const struct checkpoints *checkpoints)
{
    return checkpoints->count > CHECKPOINT_MOST || checkpoints->bytes > CHECKPOINT_MOST_BYTES;
}

/* The first, the last, and whatever would leave a gap beyond the spacing stay. */
static void thin(struct checkpoints *checkpoints)
{
    checkpoints->spacing *= 2;
    size_t kept = 1;
    for (size_t i = 1; i < checkpoints->count; i++) {
        struct planner_state *state = &checkpoints->states[i];
        uint64_t before = checkpoints->states[kept - 1].next_step;
        bool last = i + 1 == checkpoints->count;
        if (last || checkpoints->states[i + 1].next_step - before > checkpoints->spacing) {
            checkpoints->states[kept++] = *state;
            continue;
        }
        checkpoints->bytes -= state_bytes(state);
        planner_state_fini(state);
    }
    checkpoints->count = kept;
}

int checkpoints_put(struct checkpoints *checkpoints, struct planner_state *state, struct error *err)
{
    if (!grow(checkpoints->states, &checkpoints->capacity, checkpoints->count + 1))
        return error_memory(err, "keeping a planner state");
    size_t at = count_up_to(checkpoints, state->next_step);
    if (at > 0 && checkpoints->states[at - 1].next_step == state->next_step) {
        planner_state_fini(state);
        return 0;
    }
    memmove(checkpoints->states + at + 1, checkpoints->states + at,
            (checkpoints->count - at) * sizeof *state);
    checkpoints->states[at] = *state;
    checkpoints->count++;
    checkpoints->bytes += state_bytes(state);
    *state = (struct planner_state){ 0 };
    while (too_many(checkpoints) && checkpoints->count > 2)
        thin(checkpoints);
    return 0;
}

int checkpoints_add(struct checkpoints *checkpoints, const struct planner *planner,
                    struct error *err)
{
    struct planner_state state = { 0 };
    int failed = planner_save(planner, &state, err);
    if (!failed)
        failed = checkpoints_put(checkpoints, &state, err);
    planner_state_fini(&state);
    return failed;
}

/* The slot that already holds this step, else the one used longest ago. */
static unsigned recent_slot(struct checkpoints *checkpoints, uint64_t next_step)
{
    for (unsigned i = 0; i < CHECKPOINT_RECENT; i++)
        if (checkpoints->recent_used[i] && checkpoints->recent[i].next_step == next_step)
            return i;
    unsigned slot = checkpoints->recent_next;
    checkpoints->recent_next = (slot + 1) % CHECKPOINT_RECENT;
    return slot;
}

int checkpoints_leave(struct checkpoints *checkpoints, const struct planner *planner,
                      struct error *err)
{
    unsigned slot = recent_slot(checkpoints, planner_next_step(planner));
    checkpoints->recent_used[slot] = false;
    int failed = planner_save(planner, &checkpoints->recent[slot], err);
    checkpoints->recent_used[slot] = failed == 0;
    return failed;
}

void checkpoints_forget(struct checkpoints *checkpoints, uint64_t step)
{
    while (checkpoints->count && checkpoints->states[checkpoints->count - 1].next_step > step) {
        struct planner_state *state = &checkpoints->states[--checkpoints->count];
        checkpoints->bytes -= state_bytes(state);
        planner_state_fini(state);
    }
    for (size_t i = 0; i < CHECKPOINT_RECENT; i++)
        if (checkpoints->recent_used[i] && checkpoints->recent[i].next_step > step)
            checkpoints->recent_used[i] = false;
}

const struct planner_state *checkpoints_nearest(const struct checkpoints *checkpoints,
                                                uint64_t step)
{
    size_t up_to = count_up_to(checkpoints, step);
    const struct planner_state *best = up_to ? &checkpoints->states[up_to - 1] : NULL;
    for (size_t i = 0; i < CHECKPOINT_RECENT; i++) {
        const struct planner_state *state = &checkpoints->recent[i];
        if (!checkpoints->recent_used[i] || state->next_step > step)
            continue;
        if (!best || state->next_step > best->next_step)
            best = state;
    }
    return best;
}
