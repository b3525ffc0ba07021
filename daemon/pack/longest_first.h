/* Sorting pieces by length, longest first; equal lengths keep their order. */
#ifndef BALLAST_PACK_LONGEST_FIRST_H
#define BALLAST_PACK_LONGEST_FIRST_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/piece.h"

/* Working memory, reused from step to step. Zero-initialise, longest_first_fini at the end. */
struct longest_first {
    uint64_t *keys;
    struct piece *sorted;
    size_t key_capacity, sorted_capacity;
};

/* Sorts in place. EX_OSERR when out of memory, with `items` as they were. */
int longest_first_sort(struct longest_first *scratch, struct piece *items, size_t count,
                       struct error *err);

void longest_first_fini(struct longest_first *scratch);

#endif
