/*
 * `fixed-greedy`, the paper's Fixed-4D: the pieces that `plain` would cut, `window` global batches
 * at a time, longest first, each into the micro-batch of least attention work that has room in S.
 * Micro-batches alike in work then share a step. What fits nowhere waits for the next window.
 */
#include <stdlib.h>

#include "pack/fixed_windows.h"
#include "pack/policies.h"

static int assign(void *state, const struct window_problem *problem, uint32_t *groups,
                  struct error *err)
{
    (void)err;
    struct fixed_windows *windows = state;
    for (size_t i = 0; i < problem->count; i++)
        groups[i] = GROUP_NONE;
    window_count(problem, groups, windows->bins);
    window_fill(problem, windows->bins, groups);
    return 0;
}

static void greedy_close(void *state)
{
    if (state)
        fixed_windows_fini(state);
    free(state);
}

static int greedy_open(const struct pack_shape *shape, const struct pack_options *options,
                       void **ret_state, struct error *err)
{
    struct fixed_windows *windows = calloc(1, sizeof *windows);
    if (!windows)
        return error_memory(err, "opening the packer");
    int status = fixed_windows_init(windows, shape, options, assign, err);
    if (status)
        greedy_close(windows);
    else
        *ret_state = windows;
    return status;
}

const struct pack_policy pack_fixed_greedy = {
    .name = "fixed-greedy",
    .open = greedy_open,
    .close = greedy_close,
    .wants = fixed_windows_wants,
    .offer = fixed_windows_offer,
    .pack = fixed_windows_pack,
    .waiting = fixed_windows_waiting,
    .restore = fixed_windows_restore,
    .place_name = fixed_windows_place_name,
};
