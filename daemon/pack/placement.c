#include "pack/placement.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "pack/grouping.h"

int placement_init(struct placement *placement, const struct pack_shape *shape, struct error *err)
{
    *placement = (struct placement){ .shape = *shape };
    placement->works = calloc(shape->microbatches, sizeof *placement->works);
    placement->tokens = calloc(shape->microbatches, sizeof *placement->tokens);
    if (!placement->works || !placement->tokens ||
        !least_init(&placement->work, shape->microbatches)) {
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

/* The lightest micro-batch with room for so many tokens, or GROUP_NONE. */
static uint32_t lightest_with_room(const struct placement *placement, uint32_t length)
{
    uint32_t room = placement->shape.max_tokens - length, best = GROUP_NONE;
    uint32_t least = least_index(&placement->work);
    if (placement->tokens[least] <= room)
        return least;
    for (uint32_t m = 0; m < placement->shape.microbatches; m++)
        if (placement->tokens[m] <= room &&
            (best == GROUP_NONE ||
             least_key(&placement->work, m) < least_key(&placement->work, best)))
            best = m;
    return best;
}

static void place(struct placement *placement, const struct piece *pieces, size_t count)
{
    least_reset(&placement->work, placement->shape.microbatches);
    memset(placement->tokens, 0, placement->shape.microbatches * sizeof *placement->tokens);
    for (size_t i = 0; i < count; i++) {
        uint32_t m = lightest_with_room(placement, pieces[i].length);
        placement->groups[i] = m;
        if (m == GROUP_NONE)
            continue;
        least_add(&placement->work, m, cost_piece(&placement->shape.cost, pieces[i].length));
        placement->tokens[m] += pieces[i].length;
    }
    for (uint32_t m = 0; m < placement->shape.microbatches; m++)
        placement->works[m] = least_key(&placement->work, m);
}

int place_pieces(struct placement *placement, const struct piece *pieces, size_t count,
                 struct error *err)
{
    if (!grow(placement->groups, &placement->group_capacity, count))
        return error_memory(err, "packing");
    place(placement, pieces, count);
    struct placed placed = { .shape = &placement->shape,
                             .pieces = pieces,
                             .count = count,
                             .groups = placement->groups,
                             .work = placement->works,
                             .tokens = placement->tokens };
    return refine_placed(&placement->refine, &placed, err);
}
