#include "window.h"

static void step_on(struct place *place, uint32_t microbatches)
{
    if (++place->slot < microbatches)
        return;
    place->slot = 0;
    place->step++;
}

struct request *window_at(struct window *window, uint32_t index)
{
    return &window->ring[(window->first + index) % OPTIONS_MAX_PREFETCH];
}

void window_seek(struct window *window, uint64_t step)
{
    for (uint32_t i = 0; i < window->count; i++)
        request_free(window_at(window, i));
    window->first = window->count = 0;
    window->head = window->tail = (struct place){ .step = step };
}

struct request *window_extend(struct window *window, uint32_t limit, uint64_t end,
                              uint32_t microbatches, struct place *ret_place)
{
    if (window->count >= limit || window->tail.step >= end)
        return NULL;
    *ret_place = window->tail;
    step_on(&window->tail, microbatches);
    return window_at(window, window->count++);
}

uint32_t window_run(struct window *window)
{
    uint32_t run = 0;
    while (run < window->count && window_at(window, run)->state == REQUEST_READY)
        run++;
    return run;
}

void window_advance(struct window *window, uint32_t microbatches)
{
    request_free(window_at(window, 0));
    window->first = (window->first + 1) % OPTIONS_MAX_PREFETCH;
    window->count--;
    step_on(&window->head, microbatches);
}

void window_truncate(struct window *window, uint64_t end)
{
    while (window->count && window_at(window, window->count - 1)->question.step >= end)
        request_free(window_at(window, --window->count));
    if (window->tail.step >= end)
        window->tail = window->head.step >= end ? window->head : (struct place){ .step = end };
}
