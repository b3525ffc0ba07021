#include "cp/filler.h"

#include <stdlib.h>

#include "base/grow.h"
#include "cp/strategies.h"
#include "kernels/tiles/tile_pairs.h"

void filler_fini(struct filler *filler)
{
    free(filler->runs);
    *filler = (struct filler){ 0 };
}

void filler_clear(struct filler *filler)
{
    filler->count = 0;
    filler_rewind(filler);
}

void filler_rewind(struct filler *filler)
{
    filler->at = 0;
    filler->offset = 0;
    filler->tokens = 0;
    for (size_t i = 0; i < filler->count; i++)
        filler->tokens += filler->runs[i].length;
}

int filler_add(struct filler *filler, struct chunk run, struct error *err)
{
    if (!grow(filler->runs, &filler->capacity, filler->count + 1))
        return error_memory(err, "planning CP shards");
    filler->runs[filler->count++] = run;
    filler->tokens += run.length;
    return 0;
}

/* The first of the next `tokens` tokens that lie in one run. */
static struct chunk head_of(const struct filler *filler, uint64_t tokens)
{
    struct chunk run = filler->runs[filler->at];
    uint32_t left = run.length - filler->offset;
    return (struct chunk){ run.piece, run.start + filler->offset,
                           tokens < left ? (uint32_t)tokens : left };
}

static void pass(struct filler *filler, uint32_t tokens)
{
    filler->tokens -= tokens;
    filler->offset += tokens;
    if (filler->offset == filler->runs[filler->at].length) {
        filler->at++;
        filler->offset = 0;
    }
}

uint64_t filler_pairs(const struct filler *filler, uint32_t tile, uint64_t tokens)
{
    uint64_t pairs = 0;
    struct filler ahead = *filler;
    while (tokens > 0) {
        struct chunk head = head_of(&ahead, tokens);
        pairs += tile_pairs(tile, head.start, head.length);
        tokens -= head.length;
        pass(&ahead, head.length);
    }
    return pairs;
}

int filler_take(struct filler *filler, uint64_t tokens, struct cp_shards *shards,
                struct cp_rank *rank, struct error *err)
{
    while (tokens > 0) {
        struct chunk head = head_of(filler, tokens);
        int status = cp_append(shards, rank, head, err);
        if (status)
            return status;
        tokens -= head.length;
        pass(filler, head.length);
    }
    return 0;
}
