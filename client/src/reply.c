#include "reply.h"

#include <string.h>

#include "expand.h"
#include "tables.h"

#define BITS_SET(parts) ((unsigned)__builtin_popcount(parts))

/* Padding that no sensible `pad_to_multiple` exceeds; it bounds what a reply makes us allocate. */
#define PADDING_MAX 65536u

static const char *check_echo(const Ballast__V1__Batch *batch, const struct frames *frames,
                              const struct question *question)
{
    if (batch->step != question->step || batch->microbatch != question->microbatch ||
        batch->cp_rank != question->cp_rank || batch->parts != question->parts)
        return "it answers another question than was asked";
    if (frames->excess || frames->count != 1 + BITS_SET(question->parts))
        return "the number of frames differs from its parts";
    return NULL;
}

static const char *check_counts(const Ballast__V1__Batch *batch, const struct frames *frames,
                                const struct facts *facts)
{
    if (batch->microbatch_tokens > facts->job.max_sequence_length)
        return "the micro-batch is longer than max_sequence_length";
    if (batch->padded_tokens > (uint64_t)facts->job.max_sequence_length + PADDING_MAX)
        return "padded_tokens is beyond all reason";
    if (batch->n_rank_chunks != (size_t)facts->job.cp + 1)
        return "rank_chunks does not fit the number of CP ranks";
    if (frames_size(frames, FRAME_PIECES) % sizeof(struct wire_piece))
        return "the piece table ends within a record";
    if (frames_size(frames, FRAME_CHUNKS) !=
        (uint64_t)batch->rank_chunks[facts->job.cp] * sizeof(struct wire_chunk))
        return "the chunk table differs from rank_chunks in size";
    return NULL;
}

static const char *check_checksums(const Ballast__V1__Batch *batch, const struct frames *frames)
{
    const uint64_t expected[] = { [FRAME_PIECES] = batch->pieces_xxh3,
                                  [FRAME_CHUNKS] = batch->chunks_xxh3,
                                  [FRAME_TOKENS] = batch->tokens_xxh3 };
    for (unsigned i = FRAME_PIECES; i <= FRAME_TOKENS; i++)
        if (wire_checksum(frames_data(frames, i), frames_size(frames, i)) != expected[i])
            return "a frame differs from its checksum";
    return NULL;
}

static const char *check_pieces(const Ballast__V1__Batch *batch, const struct frames *frames,
                                const struct facts *facts)
{
    uint64_t tokens = 0, ends = 0;
    for (size_t i = 0; i < piece_count(frames); i++) {
        struct wire_piece piece = piece_at(frames, i);
        if (piece.length < 1)
            return "a piece has no tokens";
        if (piece.offset > UINT64_MAX - piece.length)
            return "a piece ends beyond all documents";
        if (facts->source_count && piece.source >= facts->source_count)
            return "a piece names a source that the job does not have";
        tokens += piece.length;
        ends += piece.flags & WIRE_PIECE_ENDS_DOCUMENT;
    }
    if (tokens != batch->microbatch_tokens)
        return "the pieces do not add up to microbatch_tokens";
    if (tokens - ends != batch->microbatch_loss_tokens)
        return "the pieces do not add up to microbatch_loss_tokens";
    return NULL;
}

/* Checks the chunks of one rank, and counts their tokens. */
static const char *check_rank(const Ballast__V1__Batch *batch, const struct frames *frames,
                              uint32_t rank, uint64_t *ret_tokens)
{
    uint64_t tokens = 0;
    for (uint32_t i = batch->rank_chunks[rank]; i < batch->rank_chunks[rank + 1]; i++) {
        struct wire_chunk chunk = chunk_at(frames, i);
        if (chunk.length < 1)
            return "a chunk has no tokens";
        if (chunk.piece >= piece_count(frames))
            return "a chunk names a piece that the micro-batch does not have";
        if ((uint64_t)chunk.start + chunk.length > piece_at(frames, chunk.piece).length)
            return "a chunk ends beyond its piece";
        tokens += chunk.length;
    }
    if (tokens > batch->padded_tokens)
        return "a rank has more tokens than padded_tokens";
    *ret_tokens = tokens;
    return NULL;
}

/* A number that stands for a place in a piece (splitmix64). */
static uint64_t mark(uint32_t piece, uint32_t offset)
{
    uint64_t mixed = ((uint64_t)piece << 32 | offset) + UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

/*
 * Do the chunks cover every piece exactly once? Then each place where one begins is a place where
 * another ends, but for the borders of the pieces: the marks cancel out. One pass, no memory.
 */
static bool covers(const struct frames *frames, uint32_t chunk_count)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < chunk_count; i++) {
        struct wire_chunk chunk = chunk_at(frames, i);
        sum += mark(chunk.piece, chunk.start) - mark(chunk.piece, chunk.start + chunk.length);
    }
    for (uint32_t i = 0; i < piece_count(frames); i++)
        sum -= mark(i, 0) - mark(i, piece_at(frames, i).length);
    return sum == 0;
}

static const char *check_chunks(const Ballast__V1__Batch *batch, const struct frames *frames,
                                uint32_t rank_count)
{
    uint64_t tokens = 0;
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        uint64_t of_rank = 0;
        const char *why = check_rank(batch, frames, rank, &of_rank);
        if (why)
            return why;
        if (rank == batch->cp_rank && of_rank != batch->tokens)
            return "the chunks of this rank do not add up to its tokens";
        tokens += of_rank;
    }
    if (tokens != batch->microbatch_tokens || !covers(frames, batch->rank_chunks[rank_count]))
        return "the chunks do not cover every piece exactly once";
    return NULL;
}

static const char *check_payload(const Ballast__V1__Batch *batch, const struct frames *frames,
                                 const struct facts *facts)
{
    uint64_t chunks = batch->rank_chunks[batch->cp_rank + 1] - batch->rank_chunks[batch->cp_rank];
    uint64_t tokens = batch->tokens + chunks;
    if (frames_size(frames, FRAME_TOKENS) != tokens * facts->token_bytes)
        return "the payload differs in size from the chunks of this rank";
    uint32_t limit = facts->job.vocab_size ? facts->job.vocab_size : WIRE_MAX_VOCABULARY;
    if (tokens &&
        expand_largest(frames_data(frames, FRAME_TOKENS), tokens, facts->token_bytes) >= limit)
        return "a token id is not in the vocabulary";
    return NULL;
}

const char *reply_check(const Ballast__V1__Batch *batch, const struct frames *frames,
                        const struct question *question, const struct facts *facts)
{
    const char *why = check_echo(batch, frames, question);
    if (why || !question->parts)
        return why;
    why = check_counts(batch, frames, facts);
    if (!why)
        why = check_checksums(batch, frames);
    if (!why)
        why = check_pieces(batch, frames, facts);
    if (!why)
        why = check_chunks(batch, frames, facts->job.cp);
    if (!why)
        why = check_payload(batch, frames, facts);
    return why;
}

void reply_close(struct reply *reply)
{
    wire_message_free(&reply->header);
    frames_close(&reply->frames);
}
