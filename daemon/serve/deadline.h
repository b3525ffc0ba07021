/*
 * Deadlines: a binary heap, the nearest first, so that one timer serves every waiting request.
 * Links lie inside the items. One thread at a time.
 */
#ifndef BALLAST_SERVE_DEADLINE_H
#define BALLAST_SERVE_DEADLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct deadline {
    uint64_t at_ms;
    void (*passed)(void *server, struct deadline *self); /* not used here; it is out of the heap */
    size_t place; /* in the heap, counted from 1; 0: not in it */
};

struct deadlines {
    struct deadline **heap;
    size_t count, capacity;
};

/* False when out of memory. */
bool deadlines_add(struct deadlines *deadlines, struct deadline *deadline, uint64_t at_ms);

/* One that is not in the heap is accepted. */
void deadlines_remove(struct deadlines *deadlines, struct deadline *deadline);

/* The nearest, or NULL. */
struct deadline *deadlines_first(const struct deadlines *deadlines);

void deadlines_fini(struct deadlines *deadlines);

#endif
