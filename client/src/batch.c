#include "batch.h"

#include <string.h>

#include "expand.h"
#include "tables.h"

#define ALIGNMENT 64u

struct ballast_batch {
    ballast_allocator allocator; /* a copy: the client may be gone */
    ballast_view view;
};

_Static_assert(sizeof(ballast_chunk) == sizeof(struct wire_chunk), "chunk tables are copied whole");

/* Where the arrays lie, in bytes from the start of the batch. */
struct layout {
    size_t tokens, labels, positions, pieces, cu_seqlens, chunks, rank_chunks, end;
};

/* Reserves `bytes` at the end; returns where they begin. */
static size_t reserve(size_t *end, size_t bytes)
{
    size_t begin = *end;
    *end += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return begin;
}

/* No sum overflows: reply_check has bounded every count. */
static struct layout lay_out(const struct reply *reply)
{
    const Ballast__V1__Batch *batch = reply_batch(reply);
    size_t row = (size_t)batch->padded_tokens * sizeof(int32_t);
    size_t pieces = piece_count(&reply->frames);
    struct layout layout = { .end = 0 };
    reserve(&layout.end, sizeof(struct ballast_batch));
    layout.tokens = reserve(&layout.end, row);
    layout.labels = reserve(&layout.end, row);
    layout.positions = reserve(&layout.end, row);
    layout.pieces = reserve(&layout.end, pieces * sizeof(ballast_piece));
    layout.cu_seqlens = reserve(&layout.end, (pieces + 1) * sizeof(uint32_t));
    layout.chunks = reserve(&layout.end, frames_size(&reply->frames, FRAME_CHUNKS));
    layout.rank_chunks = reserve(&layout.end, batch->n_rank_chunks * sizeof(uint32_t));
    return layout;
}

static void copy_pieces(const struct frames *frames, ballast_piece *pieces, uint32_t *cu_seqlens)
{
    size_t count = piece_count(frames);
    uint32_t offset = 0;
    for (size_t i = 0; i < count; i++) {
        struct wire_piece piece = piece_at(frames, i);
        pieces[i] = (ballast_piece){ .document = piece.document,
                                     .offset = piece.offset,
                                     .arrived = piece.arrived,
                                     .length = piece.length,
                                     .source = piece.source,
                                     .ends_document = piece.flags & WIRE_PIECE_ENDS_DOCUMENT };
        cu_seqlens[i] = offset;
        offset += piece.length;
    }
    cu_seqlens[count] = offset;
}

/* Fills the three rows of this rank's tokens; returns how many labels are to be ignored. */
static uint32_t copy_tokens(const struct reply *reply, uint32_t token_bytes, int32_t *tokens,
                            int32_t *labels, int32_t *positions)
{
    const Ballast__V1__Batch *batch = reply_batch(reply);
    const unsigned char *from = frames_data(&reply->frames, FRAME_TOKENS);
    uint32_t ignored = 0;
    size_t at = 0;
    for (uint32_t i = batch->rank_chunks[batch->cp_rank];
         i < batch->rank_chunks[batch->cp_rank + 1]; i++) {
        struct wire_chunk chunk = chunk_at(&reply->frames, i);
        expand_chunk(from, chunk.length, token_bytes, tokens + at, labels + at);
        expand_positions(positions + at, chunk.length, chunk.start);
        from += ((size_t)chunk.length + 1) * token_bytes;
        at += chunk.length;
        if (ends_document(chunk, piece_at(&reply->frames, chunk.piece))) {
            labels[at - 1] = BALLAST_IGNORE_LABEL;
            ignored++;
        }
    }
    size_t padding = batch->padded_tokens - at;
    expand_fill(tokens + at, padding, 0);
    expand_fill(labels + at, padding, BALLAST_IGNORE_LABEL);
    expand_fill(positions + at, padding, 0);
    return ignored;
}

static ballast_view make_view(const struct reply *reply, const struct facts *facts,
                              const struct layout *layout, unsigned char *base)
{
    const Ballast__V1__Batch *batch = reply_batch(reply);
    ballast_view view = {
        .step = batch->step,
        .microbatch = batch->microbatch,
        .slot = batch->microbatch % facts->job.microbatches,
        .cp_rank = batch->cp_rank,
        .cp = facts->job.cp,
        .local_tokens = batch->tokens,
        .padded_tokens = batch->padded_tokens,
        .tokens = (const int32_t *)(const void *)(base + layout->tokens),
        .labels = (const int32_t *)(const void *)(base + layout->labels),
        .positions = (const int32_t *)(const void *)(base + layout->positions),
        .piece_count = (uint32_t)piece_count(&reply->frames),
        .pieces = (const ballast_piece *)(const void *)(base + layout->pieces),
        .cu_seqlens = (const uint32_t *)(const void *)(base + layout->cu_seqlens),
        .chunks = (const ballast_chunk *)(const void *)(base + layout->chunks),
        .rank_chunks = (const uint32_t *)(const void *)(base + layout->rank_chunks),
        .microbatch_tokens = batch->microbatch_tokens,
        .microbatch_loss_tokens = batch->microbatch_loss_tokens,
        .step_tokens = batch->step_tokens,
        .step_loss_tokens = batch->step_loss_tokens,
        .workload = batch->workload,
    };
    memcpy(view.digest, batch->digest.data, BALLAST_DIGEST_BYTES);
    return view;
}

static void *allocate(const ballast_allocator *allocator, size_t bytes, ballast_status *status)
{
    void *memory = allocator->allocate(allocator->context, bytes);
    *status = BALLAST_NO_MEMORY;
    if (!memory || (uintptr_t)memory % ALIGNMENT == 0)
        return memory;
    allocator->release(allocator->context, memory);
    *status = BALLAST_INVALID;
    return NULL;
}

ballast_status batch_new(const ballast_allocator *allocator, const struct facts *facts,
                         const struct reply *reply, ballast_batch **ret_batch)
{
    struct layout layout = lay_out(reply);
    ballast_status status;
    unsigned char *base = allocate(allocator, layout.end, &status);
    if (!base)
        return status;
    const Ballast__V1__Batch *header = reply_batch(reply);
    ballast_batch *batch = (ballast_batch *)(void *)base;
    batch->allocator = *allocator;
    batch->view = make_view(reply, facts, &layout, base);

    copy_pieces(&reply->frames, (ballast_piece *)(void *)(base + layout.pieces),
                (uint32_t *)(void *)(base + layout.cu_seqlens));
    size_t chunk_bytes = frames_size(&reply->frames, FRAME_CHUNKS);
    memcpy(base + layout.chunks, frames_data(&reply->frames, FRAME_CHUNKS), chunk_bytes);
    memcpy(base + layout.rank_chunks, header->rank_chunks,
           header->n_rank_chunks * sizeof(uint32_t));
    uint32_t ignored = copy_tokens(
        reply, facts->token_bytes, (int32_t *)(void *)(base + layout.tokens),
        (int32_t *)(void *)(base + layout.labels), (int32_t *)(void *)(base + layout.positions));
    batch->view.local_loss_tokens = header->tokens - ignored;
    *ret_batch = batch;
    return BALLAST_OK;
}

const ballast_view *ballast_batch_view(const ballast_batch *batch)
{
    return &batch->view;
}

void ballast_batch_free(ballast_batch *batch)
{
    if (!batch)
        return;
    ballast_allocator allocator = batch->allocator;
    allocator.release(allocator.context, batch);
}
