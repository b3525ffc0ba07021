#include "pack/placement.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "pack/grouping.h"

int placement_init(struct placement *placement, const struct pack_shape *shape, struct error *err)
{
    uint32_t replicas = shape->replicas ? shape->replicas : shape->microbatches;
    *placement =
        (struct placement){ .shape = *shape, .replica_size = shape->microbatches / replicas };
    placement->works = calloc(shape->microbatches, sizeof *placement->works);
    placement->tokens = calloc(shape->microbatches, sizeof *placement->tokens);
    if (!placement->works || !placement->tokens || !least_init(&placement->work, replicas)) {
        placement_fini(placement);
        return error_memory(err, "opening the packer");
    }
    return 0;
}

void placement_fini(struct placement *placement)
{
    least_fini(&placement->work);
    free(placement->works);
    free(placement->tokens);
    free(placement->groups);
    refine_fini(&placement->refine);
    *placement = (struct placement){ 0 };
}

/* The lightest of micro-batches from .. to - 1 with room for so many tokens, or GROUP_NONE. */
static uint32_t lightest_with_room(const struct placement *placement, uint32_t from, uint32_t to,
                                   uint32_t length)
{
    uint32_t room = placement->shape.max_tokens - length, best = GROUP_NONE;
    for (uint32_t m = from; m < to; m++)
        if (placement->tokens[m] <= room &&
            (best == GROUP_NONE || placement->works[m] < placement->works[best]))
            best = m;
    return best;
}

/* In the lightest replica if it has room, else in any. */
static uint32_t choose(const struct placement *placement, uint32_t length)
{
    uint32_t first = least_index(&placement->work) * placement->replica_size;
    uint32_t m = lightest_with_room(placement, first, first + placement->replica_size, length);
    return m != GROUP_NONE
               ? m
               : lightest_with_room(placement, 0, placement->shape.microbatches, length);
}

static void place(struct placement *placement, const struct piece *pieces, size_t count)
{
    uint32_t n = placement->shape.microbatches;
    least_reset(&placement->work, n / placement->replica_size);
    memset(placement->works, 0, n * sizeof *placement->works);
    memset(placement->tokens, 0, n * sizeof *placement->tokens);
    for (size_t i = 0; i < count; i++) {
        uint32_t m = choose(placement, pieces[i].length);
        placement->groups[i] = m;
        if (m == GROUP_NONE)
            continue;
        workload work = cost_piece(&placement->shape.cost, pieces[i].length);
        least_add(&placement->work, m / placement->replica_size, work);
        placement->works[m] += work;
        placement->tokens[m] += pieces[i].length;
    }
}

int place_pieces(struct placement *placement, const struct piece *pieces, size_t count,
                 struct leeway leeway, struct error *err)
{
    if (!grow(placement->groups, &placement->group_capacity, count))
        return error_memory(err, "packing");
    place(placement, pieces, count);
    if (placement->replica_size > 1)
        return 0;
    struct placed placed = { .shape = &placement->shape,
                             .pieces = pieces,
                             .count = count,
                             .groups = placement->groups,
                             .work = placement->works,
                             .tokens = placement->tokens,
                             .leeway = leeway };
    return refine_placed(&placement->refine, &placed, err);
}
