#include "pack/grouping.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static void count_groups(const struct pack_shape *shape, const struct piece *pieces,
                         const uint32_t *groups, size_t count, struct packing *packing)
{
    struct packed_microbatch *microbatches = packing->microbatches;
    memset(microbatches, 0, shape->microbatches * sizeof *microbatches);
    packing->piece_count = 0;
    packing->tokens = 0;
    for (size_t i = 0; i < count; i++) {
        if (groups[i] >= shape->microbatches)
            continue;
        struct packed_microbatch *microbatch = &microbatches[groups[i]];
        microbatch->count++;
        microbatch->tokens += pieces[i].length;
        microbatch->workload += cost_piece(&shape->cost, pieces[i].length);
        packing->tokens += pieces[i].length;
        packing->piece_count++;
    }
    for (uint32_t m = 1; m < shape->microbatches; m++)
        microbatches[m].first = microbatches[m - 1].first + microbatches[m - 1].count;
}

int group_pieces(const struct pack_shape *shape, const struct piece *pieces, const uint32_t *groups,
                 size_t count, struct packing *packing, struct error *err)
{
    if (!grow(packing->pieces, &packing->piece_capacity, count) ||
        !grow(packing->microbatches, &packing->microbatch_capacity, shape->microbatches))
        return error_memory(err, "packing");
    count_groups(shape, pieces, groups, count, packing);

    struct packed_microbatch *microbatches = packing->microbatches;
    for (size_t i = 0; i < count; i++)
        if (groups[i] < shape->microbatches)
            packing->pieces[microbatches[groups[i]].first++] = pieces[i];
    for (uint32_t m = 0; m < shape->microbatches; m++)
        microbatches[m].first -= microbatches[m].count;
    return 0;
}

void packing_fini(struct packing *packing)
{
    free(packing->pieces);
    free(packing->microbatches);
    *packing = (struct packing){ 0 };
}
