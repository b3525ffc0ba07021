#include "serve/shared_plan.h"

#include <stdlib.h>
#include <string.h>

#include "wire/table.h"

/* Places `bytes` at the end of a block that has been counted out before. */
static void *carve(unsigned char **at, const void *from, size_t bytes)
{
    void *place = *at;
    if (bytes)
        memcpy(place, from, bytes);
    *at += (bytes + 15) & ~(size_t)15;
    return place;
}

static void checksum_tables(struct shared_plan *shared)
{
    const struct step_plan *plan = &shared->plan;
    for (uint32_t m = 0; m < plan->microbatch_count; m++) {
        const struct plan_microbatch *batch = &plan->microbatches[m];
        shared->pieces_xxh3[m] = wire_checksum(plan->pieces + batch->first_piece,
                                               batch->piece_count * sizeof *plan->pieces);
        shared->chunks_xxh3[m] = wire_checksum(plan->chunks + batch->first_chunk,
                                               batch->chunk_count * sizeof *plan->chunks);
    }
}

int shared_plan_new(const struct step_plan *plan, struct digest job, const struct config *config,
                    struct shared_plan **ret_shared, struct error *err)
{
    size_t batches = plan->microbatch_count * sizeof *plan->microbatches;
    size_t pieces = plan->piece_count * sizeof *plan->pieces;
    size_t chunks = plan->chunk_count * sizeof *plan->chunks;
    size_t ranks = (size_t)plan->microbatch_count * plan->rank_count * sizeof *plan->ranks;
    size_t sums = plan->microbatch_count * sizeof(uint64_t);
    size_t slack = (size_t)16 * 7; /* every array starts on a multiple of 16 */
    size_t bytes =
        sizeof(struct shared_plan) + batches + pieces + chunks + ranks + 2 * sums + slack;
    struct shared_plan *shared = calloc(1, bytes);
    if (!shared)
        return error_memory(err, "keeping a plan");
    unsigned char *at =
        (unsigned char *)shared + ((sizeof *shared + 15) & ~(size_t)15); /* calloc aligns to 16 */
    atomic_init(&shared->references, 1);
    shared->bytes = bytes;
    shared->job = job;
    shared->config = config;
    shared->plan = *plan;
    shared->plan.microbatches = carve(&at, plan->microbatches, batches);
    shared->plan.pieces = carve(&at, plan->pieces, pieces);
    shared->plan.chunks = carve(&at, plan->chunks, chunks);
    shared->plan.ranks = carve(&at, plan->ranks, ranks);
    shared->pieces_xxh3 = (uint64_t *)(void *)at;
    shared->chunks_xxh3 = shared->pieces_xxh3 + plan->microbatch_count;
    checksum_tables(shared);
    *ret_shared = shared;
    return 0;
}

struct shared_plan *shared_plan_ref(struct shared_plan *shared)
{
    atomic_fetch_add_explicit(&shared->references, 1, memory_order_relaxed);
    return shared;
}

void shared_plan_unref(struct shared_plan *shared)
{
    if (!shared)
        return;
    /* Release, then acquire: whoever frees has seen every other holder's last read. */
    if (atomic_fetch_sub_explicit(&shared->references, 1, memory_order_acq_rel) == 1)
        free(shared);
}
