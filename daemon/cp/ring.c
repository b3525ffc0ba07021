#include "cp/ring.h"

#include <stdlib.h>

#include "base/grow.h"
#include "cp/strategies.h"
#include "kernels/tiles/tile_pairs.h"

void ring_fini(struct ring *ring)
{
    free(ring->runs);
    free(ring->tokens);
    free(ring->pairs);
    free(ring->rest);
    *ring = (struct ring){ 0 };
}

void ring_clear(struct ring *ring, uint32_t tile)
{
    ring->count = 0;
    ring->tile = tile;
}

int ring_add(struct ring *ring, struct chunk run, struct error *err)
{
    if (run.length == 0)
        return 0;
    if (!grow(ring->runs, &ring->capacity, ring->count + 1))
        return error_memory(err, "planning CP shards");
    ring->runs[ring->count++] = run;
    return 0;
}

int ring_sum(struct ring *ring, struct error *err)
{
    size_t count = ring->count;
    if (!grow(ring->tokens, &ring->tokens_capacity, 2 * count + 1) ||
        !grow(ring->pairs, &ring->pairs_capacity, 2 * count + 1))
        return error_memory(err, "planning CP shards");
    ring->tokens[0] = ring->pairs[0] = 0;
    for (size_t i = 0; i < count; i++) {
        const struct chunk *run = &ring->runs[i];
        ring->tokens[i + 1] = ring->tokens[i] + run->length;
        ring->pairs[i + 1] = ring->pairs[i] + tile_pairs(ring->tile, run->start, run->length);
    }
    for (size_t i = 1; i <= count; i++) {
        ring->tokens[count + i] = ring->tokens[count] + ring->tokens[i];
        ring->pairs[count + i] = ring->pairs[count] + ring->pairs[i];
    }
    return 0;
}

static uint64_t tokens_before(const struct ring *ring, struct place place)
{
    return ring->tokens[place.run] + place.offset;
}

uint64_t ring_arc_tokens(const struct ring *ring, struct place from, struct place to)
{
    return tokens_before(ring, to) - tokens_before(ring, from);
}

static uint64_t pairs_before(const struct ring *ring, struct place place)
{
    uint32_t start = ring_run(ring, place.run)->start;
    return ring->pairs[place.run] + tile_pairs(ring->tile, start, place.offset);
}

uint64_t ring_arc_pairs(const struct ring *ring, struct place from, struct place to)
{
    return pairs_before(ring, to) - pairs_before(ring, from);
}

/* What of a run lies in [from, to). */
static struct chunk clip(const struct ring *ring, size_t index, struct place from, struct place to)
{
    const struct chunk *run = ring_run(ring, index);
    uint32_t start = index == from.run ? from.offset : 0;
    uint32_t end = index == to.run ? to.offset : run->length;
    return (struct chunk){ run->piece, run->start + start, end - start };
}

int ring_take(struct ring *ring, struct place from, struct place to, struct cp_shards *shards,
              struct cp_rank *rank, struct error *err)
{
    int status = 0;
    for (size_t i = from.run; i <= to.run && status == 0; i++)
        status = cp_append(shards, rank, clip(ring, i, from, to), err);
    struct place round = { from.run + ring->count, from.offset };
    struct ring rest = { .runs = ring->rest, .capacity = ring->rest_capacity };
    for (size_t i = to.run; i <= round.run && status == 0; i++)
        status = ring_add(&rest, clip(ring, i, to, round), err);
    ring->rest = ring->runs;
    ring->rest_capacity = ring->capacity;
    ring->runs = rest.runs;
    ring->capacity = rest.capacity;
    ring->count = rest.count;
    return status;
}
