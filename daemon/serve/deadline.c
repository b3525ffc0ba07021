#include "serve/deadline.h"

#include <stdlib.h>

#include "base/grow.h"

static void put(struct deadlines *deadlines, size_t index, struct deadline *deadline)
{
    deadlines->heap[index] = deadline;
    deadline->place = index + 1;
}

static void sift_up(struct deadlines *deadlines, size_t index)
{
    struct deadline *moving = deadlines->heap[index];
    while (index > 0) {
        size_t parent = (index - 1) / 2;
        if (deadlines->heap[parent]->at_ms <= moving->at_ms)
            break;
        put(deadlines, index, deadlines->heap[parent]);
        index = parent;
    }
    put(deadlines, index, moving);
}

static void sift_down(struct deadlines *deadlines, size_t index)
{
    struct deadline *moving = deadlines->heap[index];
    for (;;) {
        size_t child = 2 * index + 1;
        if (child >= deadlines->count)
            break;
        if (child + 1 < deadlines->count &&
            deadlines->heap[child + 1]->at_ms < deadlines->heap[child]->at_ms)
            child++;
        if (deadlines->heap[child]->at_ms >= moving->at_ms)
            break;
        put(deadlines, index, deadlines->heap[child]);
        index = child;
    }
    put(deadlines, index, moving);
}

bool deadlines_add(struct deadlines *deadlines, struct deadline *deadline, uint64_t at_ms)
{
    if (!grow(deadlines->heap, &deadlines->capacity, deadlines->count + 1))
        return false;
    deadline->at_ms = at_ms;
    deadlines->heap[deadlines->count++] = deadline;
    sift_up(deadlines, deadlines->count - 1);
    return true;
}

void deadlines_remove(struct deadlines *deadlines, struct deadline *deadline)
{
    if (deadline->place == 0)
        return;
    size_t index = deadline->place - 1;
    deadline->place = 0;
    struct deadline *last = deadlines->heap[--deadlines->count];
    if (last == deadline)
        return;
    put(deadlines, index, last);
    sift_up(deadlines, index);
    sift_down(deadlines, last->place - 1);
}

struct deadline *deadlines_first(const struct deadlines *deadlines)
{
    return deadlines->count ? deadlines->heap[0] : NULL;
}

void deadlines_fini(struct deadlines *deadlines)
{
    free(deadlines->heap);
    *deadlines = (struct deadlines){ 0 };
}
