#include "pack/longest_first.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static int rising(const void *left, const void *right)
{
    uint64_t a, b;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    return (a > b) - (a < b);
}

int longest_first_sort(struct longest_first *scratch, struct piece *items, size_t count,
                       struct error *err)
{
    if (count < 2)
        return 0;
    if (count > UINT32_MAX)
        return error_set(err, EX_SOFTWARE, "packing: %zu pieces in one step, at most 2^32 - 1",
                         count);
    if (!grow(scratch->keys, &scratch->key_capacity, count) ||
        !grow(scratch->sorted, &scratch->sorted_capacity, count))
        return error_memory(err, "packing");
    /* The place in the low half makes the keys distinct, and so the order stable. */
    for (size_t i = 0; i < count; i++)
        scratch->keys[i] = (uint64_t)(UINT32_MAX - items[i].length) << 32 | i;
    qsort(scratch->keys, count, sizeof *scratch->keys, rising);
    for (size_t i = 0; i < count; i++)
        scratch->sorted[i] = items[(uint32_t)scratch->keys[i]];
    memcpy(items, scratch->sorted, count * sizeof *items);
    return 0;
}

void longest_first_fini(struct longest_first *scratch)
{
    free(scratch->keys);
    free(scratch->sorted);
    *scratch = (struct longest_first){ 0 };
}
