#include "plan/assemble.h"

#include <string.h>

#include "base/grow.h"

_Static_assert(sizeof(struct plan_microbatch) == 40, "hashed as it lies: no padding");
_Static_assert(sizeof(struct cp_rank) == 24, "hashed as it lies: padding is explicit");

static int reserve(struct step_plan *plan, const struct packing *packing, uint32_t microbatches,
                   uint32_t ranks, struct error *err)
{
    if (!grow(plan->microbatches, &plan->microbatch_capacity, microbatches) ||
        !grow(plan->pieces, &plan->piece_capacity, packing->piece_count) ||
        !grow(plan->ranks, &plan->rank_capacity, (size_t)microbatches * ranks))
        return error_memory(err, "planning");
    return 0;
}

/* Tokens that have a label: all but the last of every document. */
static uint32_t loss_tokens(const struct piece *pieces, uint32_t count)
{
    uint32_t tokens = 0;
    for (uint32_t i = 0; i < count; i++)
        tokens += pieces[i].length - (pieces[i].flags & PIECE_ENDS_DOCUMENT);
    return tokens;
}

static int add_microbatch(const struct packing *packing, uint32_t index,
                          const struct cp_options *sharding, struct cp_shards *shards,
                          struct step_plan *plan, struct error *err)
{
    const struct packed_microbatch *packed = &packing->microbatches[index];
    const struct piece *pieces = plan->pieces + packed->first;
    int status = cp_shard(sharding, pieces, packed->count, shards, err);
    if (status)
        return status;
    if (!grow(plan->chunks, &plan->chunk_capacity, plan->chunk_count + shards->chunk_count))
        return error_memory(err, "planning");
    if (shards->chunk_count)
        memcpy(plan->chunks + plan->chunk_count, shards->chunks,
               shards->chunk_count * sizeof *shards->chunks);
    memcpy(plan->ranks + (size_t)index * sharding->ranks, shards->ranks,
           sharding->ranks * sizeof *shards->ranks);
    plan->microbatches[index] =
        (struct plan_microbatch){ .first_piece = packed->first,
                                  .piece_count = packed->count,
                                  .first_chunk = (uint32_t)plan->chunk_count,
                                  .chunk_count = (uint32_t)shards->chunk_count,
                                  .tokens = packed->tokens,
                                  .loss_tokens = loss_tokens(pieces, packed->count),
                                  .padded_tokens = shards->padded_tokens,
                                  .sharding = shards->used,
                                  .workload = packed->workload };
    plan->chunk_count += shards->chunk_count;
    return 0;
}

/* digest(step) = hash(digest(step - 1), plan(step)), as one link a table. */
static struct digest chain_plan(const struct step_plan *plan, struct digest digest)
{
    uint64_t head[] = { plan->step, plan->microbatch_count, plan->rank_count };
    size_t ranks = (size_t)plan->microbatch_count * plan->rank_count;
    digest = digest_chain(digest, head, sizeof head);
    digest = digest_chain(digest, plan->microbatches,
                          plan->microbatch_count * sizeof *plan->microbatches);
    digest = digest_chain(digest, plan->pieces, plan->piece_count * sizeof *plan->pieces);
    digest = digest_chain(digest, plan->ranks, ranks * sizeof *plan->ranks);
    return digest_chain(digest, plan->chunks, plan->chunk_count * sizeof *plan->chunks);
}

int assemble_plan(uint64_t step, const struct packing *packing, uint32_t microbatches,
                  const struct cp_options *sharding, struct digest previous,
                  struct cp_shards *shards, struct step_plan *plan, struct error *err)
{
    int status = reserve(plan, packing, microbatches, sharding->ranks, err);
    if (status)
        return status;
    plan->step = step;
    plan->tokens = packing->tokens;
    plan->loss_tokens = 0;
    plan->microbatch_count = microbatches;
    plan->rank_count = sharding->ranks;
    plan->piece_count = packing->piece_count;
    plan->chunk_count = 0;
    if (packing->piece_count)
        memcpy(plan->pieces, packing->pieces, packing->piece_count * sizeof *plan->pieces);
    for (uint32_t m = 0; m < microbatches; m++) {
        status = add_microbatch(packing, m, sharding, shards, plan, err);
        if (status)
            return status;
        plan->loss_tokens += plan->microbatches[m].loss_tokens;
    }
    if (plan->chunk_count > UINT32_MAX)
        return error_set(err, EX_CONFIG,
                         "step %llu: %zu chunks, at most 2^32 - 1: use fewer CP ranks, or a "
                         "smaller context window",
                         (unsigned long long)step, plan->chunk_count);
    plan->digest = chain_plan(plan, previous);
    return 0;
}
