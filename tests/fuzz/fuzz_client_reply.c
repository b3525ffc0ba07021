/*
 * The client's answer to hostile batches: whatever passes its checks must be built into a batch
 * without a read or a write out of place, and the batch must keep its promises. Checksums are made
 * right first: an enemy can compute them, and a fuzzer should not have to.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "fuzz/client_input.h"
#include "fuzz/fuzz.h"
#include "wire/limits.h"
#include "wire/table.h"

static void *allocate(void *context, size_t bytes)
{
    (void)context;
    return aligned_alloc(64, bytes);
}

static void release(void *context, void *memory)
{
    (void)context;
    free(memory);
}

static struct facts facts_of(uint32_t vocab_size)
{
    return (struct facts){ .job = { .dp = 1,
                                    .cp = 2,
                                    .microbatches = 2,
                                    .context_window = 1024,
                                    .max_sequence_length = 4096,
                                    .vocab_size = vocab_size },
                           .token_bytes = vocab_size ? 2 : 4,
                           .source_count = 1 };
}

static void add_frame(struct frames *frames, const uint8_t *bytes, size_t count)
{
    zmq_msg_t *part = &frames->part[frames->count++];
    if (zmq_msg_init_size(part, count) != 0)
        abort();
    if (count)
        memcpy(zmq_msg_data(part), bytes, count);
}

/* Cuts the input into four frames; false when it is too short to be any. */
static bool split(const uint8_t *bytes, size_t count, struct frames *frames)
{
    uint16_t sizes[CLIENT_INPUT_SIZES];
    if (count < CLIENT_INPUT_PREFIX_BYTES)
        return false;
    memcpy(sizes, bytes, sizeof sizes);
    bytes += sizeof sizes;
    count -= sizeof sizes;
    for (int i = 0; i < CLIENT_INPUT_SIZES; i++) {
        size_t size = sizes[i] < count ? sizes[i] : count;
        add_frame(frames, bytes, size);
        bytes += size;
        count -= size;
    }
    add_frame(frames, bytes, count);
    return true;
}

static void make_checksums(Ballast__V1__Batch *batch, const struct frames *frames)
{
    uint64_t *const sums[] = { &batch->pieces_xxh3, &batch->chunks_xxh3, &batch->tokens_xxh3 };
    for (unsigned i = 0; i < 3; i++)
        *sums[i] = wire_checksum(frames_data(frames, i + 1), frames_size(frames, i + 1));
}

static void require(bool promise)
{
    if (!promise)
        abort();
}

static void check_promises(const ballast_view *view, uint32_t vocab_size)
{
    uint32_t labels = 0;
    for (uint32_t i = 0; i < view->padded_tokens; i++) {
        require(view->tokens[i] >= 0 && (!vocab_size || view->tokens[i] < (int32_t)vocab_size));
        require(view->positions[i] >= 0 && view->positions[i] < 4096);
        labels += view->labels[i] != BALLAST_IGNORE_LABEL;
    }
    require(labels == view->local_loss_tokens);
    require(view->cu_seqlens[view->piece_count] == view->microbatch_tokens);
    uint32_t owned = 0;
    for (uint32_t i = 0; i < view->rank_chunks[view->cp]; i++) {
        require(view->chunks[i].piece < view->piece_count);
        owned += view->chunks[i].length;
    }
    require(owned == view->microbatch_tokens);
}

static void build(const struct reply *reply, uint32_t vocab_size)
{
    const ballast_allocator allocator = { allocate, release, NULL };
    const struct facts facts = facts_of(vocab_size);
    Ballast__V1__Batch *batch = reply->header.batch;
    struct question question = { batch->step, batch->microbatch, batch->cp_rank, PARTS_ALL };
    ballast_batch *built;
    /* A question is never for a rank that the job does not have. */
    if (batch->cp_rank >= facts.job.cp ||
        reply_check(batch, &reply->frames, &question, &facts) != NULL)
        return;
    if (batch_new(&allocator, &facts, reply, &built) != BALLAST_OK)
        return;
    check_promises(ballast_batch_view(built), vocab_size);
    ballast_batch_free(built);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct reply reply = { .frames = { .count = 0 } };
    const char *why;
    if (split(bytes, count, &reply.frames) &&
        wire_decode(frames_data(&reply.frames, 0), frames_size(&reply.frames, 0),
                    WIRE_MAX_REPLY_BYTES, &reply.header, &why) == WIRE_OK &&
        reply.header.type == WIRE_BATCH && reply.header.batch->status == WIRE_OK) {
        make_checksums(reply.header.batch, &reply.frames);
        build(&reply, 1000);
        build(&reply, 0);
    }
    reply_close(&reply);
    return 0;
}
