#include "pack/promise.h"

#include <string.h>

void promise_init(struct promise *promise, const struct pack_shape *shape, uint32_t max_delay,
                  uint32_t small_tokens)
{
    uint64_t window = shape->window;
    uint64_t half_full = (uint64_t)shape->microbatches * shape->max_tokens / 2;
    promise->max_delay = max_delay;
    /* One piece less: the last one marked may reach over what is needed. */
    promise->safe_tokens = half_full > 2 * window ? half_full - window : window;
    promise->most_waiting = (max_delay + UINT64_C(1)) * promise->safe_tokens - window;
    uint64_t nearly_full = (uint64_t)shape->microbatches * (shape->max_tokens - small_tokens);
    promise->most_left = max_delay * promise->safe_tokens;
    promise->most_held = promise->most_left + nearly_full - window;
}

void promise_begin(struct promise *promise)
{
    memset(promise->due, 0, (promise->max_delay + 1) * sizeof *promise->due);
    promise->needed = 0;
    promise->last = 0;
}

static uint32_t steps_left(const struct promise *promise, const struct piece *piece, uint64_t step)
{
    uint64_t age = step - piece->arrived;
    return age >= promise->max_delay ? 0 : promise->max_delay - (uint32_t)age;
}

void promise_add(struct promise *promise, const struct piece *pieces, size_t count, uint64_t step)
{
    for (size_t i = 0; i < count; i++)
        promise->due[steps_left(promise, &pieces[i], step)] += pieces[i].length;
}

void promise_settle(struct promise *promise)
{
    uint64_t due = 0, needed = 0;
    for (uint32_t left = 0; left <= promise->max_delay; left++) {
        due += promise->due[left];
        uint64_t later = left * promise->safe_tokens;
        if (due > later && due - later > needed)
            needed = due - later;
    }
    while (promise->last <= promise->max_delay && promise->due[promise->last] <= needed)
        needed -= promise->due[promise->last++];
    promise->needed = needed;
}

bool promise_must_go(struct promise *promise, const struct piece *piece, uint64_t step)
{
    uint32_t left = steps_left(promise, piece, step);
    if (left != promise->last || promise->needed == 0)
        return left < promise->last;
    promise->needed -= piece->length < promise->needed ? piece->length : promise->needed;
    return true;
}
