#include "pack/replicas.h"

#include <stdlib.h>
#include <string.h>

/* Heaviest first; equal ones by their first piece, which differs unless both are empty. */
static int heaviest_first(const void *left, const void *right)
{
    const struct packed_microbatch *a = left, *b = right;
    if (a->workload != b->workload)
        return a->workload < b->workload ? 1 : -1;
    return (a->first > b->first) - (a->first < b->first);
}

/* From heaviest first to a mountain with its top at `top`: right and left slope by turns. */
static void pile_up(const struct packed_microbatch *sorted, uint32_t count, uint32_t top,
                    struct packed_microbatch *to)
{
    uint32_t left = top, right = top + 1; /* the next places are left - 1 and right */
    to[top] = sorted[0];
    for (uint32_t i = 1; i < count; i++) {
        bool rightwards = left == 0 || (i % 2 == 1 && right < count);
        if (rightwards)
            to[right++] = sorted[i];
        else
            to[--left] = sorted[i];
    }
}

int order_replicas(const struct pack_shape *shape, struct packing *packing, struct error *err)
{
    uint32_t size = shape->microbatches / shape->replicas;
    uint32_t top = shape->stages / 2 < size / 2 ? shape->stages / 2 : size / 2;
    struct packed_microbatch *sorted = malloc(size * sizeof *sorted);
    if (!sorted)
        return error_memory(err, "packing");
    for (uint32_t replica = 0; replica < shape->replicas; replica++) {
        struct packed_microbatch *own = packing->microbatches + (size_t)replica * size;
        memcpy(sorted, own, size * sizeof *sorted);
        qsort(sorted, size, sizeof *sorted, heaviest_first);
        pile_up(sorted, size, top, own);
    }
    free(sorted);
    return 0;
}
