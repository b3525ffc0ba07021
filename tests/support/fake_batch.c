#include "support/fake_batch.h"

#include <stdlib.h>
#include <string.h>

static uint32_t token_bytes(const struct fake_job *job)
{
    return job->vocab_size >= 1 && job->vocab_size <= 65536 ? 2 : 4;
}

uint32_t fake_token(const struct fake_job *job, uint64_t step, uint32_t microbatch, uint32_t piece,
                    uint32_t offset)
{
    uint64_t mixed = step * 7919 + microbatch * 1009 + piece * 101 + offset * 3 + 1;
    return (uint32_t)(mixed % (job->vocab_size ? job->vocab_size : 1u << 30));
}

void fake_digest(const struct fake_job *job, uint64_t step, uint8_t salt, uint8_t digest[16])
{
    for (int i = 0; i < 16; i++)
        digest[i] = (uint8_t)(job->digest_salt + 31 * salt + 17 * i);
    for (int i = 0; i < 8; i++)
        digest[i] = (uint8_t)(digest[i] ^ (step >> 8 * i));
}

static bool continues(const struct fake_job *job, uint32_t piece)
{
    return job->continued == piece + 1;
}

static void fill_pieces(struct fake_batch *batch, const struct fake_job *job)
{
    uint32_t tokens = 0, loss_tokens = 0;
    for (uint32_t i = 0; i < job->piece_count; i++) {
        bool ends = !continues(job, i);
        batch->pieces[i] = (struct wire_piece){ .document = 100 + i,
                                                .offset = ends ? 0 : 5,
                                                .arrived = i,
                                                .length = job->lengths[i],
                                                .flags = ends ? WIRE_PIECE_ENDS_DOCUMENT : 0 };
        tokens += job->lengths[i];
        loss_tokens += job->lengths[i] - ends;
    }
    batch->pieces_bytes = job->piece_count * sizeof *batch->pieces;
    batch->header.microbatch_tokens = tokens;
    batch->header.microbatch_loss_tokens = loss_tokens;
    batch->header.step_tokens = (uint64_t)tokens * job->dp * job->microbatches;
    batch->header.step_loss_tokens = (uint64_t)loss_tokens * job->dp * job->microbatches;
}

/* Part `part` of a piece cut into 2 x cp; the first parts take what is left over. */
static struct wire_chunk cut(const struct fake_job *job, uint32_t piece, uint32_t part)
{
    uint32_t parts = 2 * job->cp, length = job->lengths[piece];
    uint32_t each = length / parts, longer = length % parts;
    return (struct wire_chunk){ .piece = piece,
                                .start = part * each + (part < longer ? part : longer),
                                .length = each + (part < longer) };
}

/* Adds the chunks of one rank; returns its tokens. */
static uint32_t fill_rank(struct fake_batch *batch, const struct fake_job *job, uint32_t rank,
                          uint32_t *count)
{
    uint32_t tokens = 0;
    for (uint32_t piece = 0; piece < job->piece_count; piece++)
        for (int side = 0; side < 2; side++) {
            struct wire_chunk chunk = cut(job, piece, side ? 2 * job->cp - 1 - rank : rank);
            if (chunk.length == 0)
                continue;
            batch->chunks[(*count)++] = chunk;
            tokens += chunk.length;
        }
    return tokens;
}

static void fill_chunks(struct fake_batch *batch, const struct fake_job *job, uint32_t cp_rank)
{
    uint32_t count = 0, most = 0;
    for (uint32_t rank = 0; rank < job->cp; rank++) {
        batch->rank_chunks[rank] = count;
        uint32_t tokens = fill_rank(batch, job, rank, &count);
        most = tokens > most ? tokens : most;
        if (rank == cp_rank)
            batch->header.tokens = tokens;
    }
    batch->rank_chunks[job->cp] = count;
    uint32_t pad = job->pad_to_multiple ? job->pad_to_multiple : 1;
    batch->header.padded_tokens = (most + pad - 1) / pad * pad;
    batch->header.rank_chunks = batch->rank_chunks;
    batch->header.n_rank_chunks = job->cp + 1;
    batch->chunks_bytes = count * sizeof *batch->chunks;
}

static void put_token(struct fake_batch *batch, uint32_t width, uint32_t token)
{
    memcpy(batch->tokens + batch->tokens_bytes, &token, width);
    batch->tokens_bytes += width;
}

static void fill_tokens(struct fake_batch *batch, const struct fake_job *job)
{
    const Ballast__V1__Batch *header = &batch->header;
    uint32_t first = batch->rank_chunks[header->cp_rank];
    uint32_t last = batch->rank_chunks[header->cp_rank + 1];
    /* Room for one token more than there are: FAKE_LONG_PAYLOAD. */
    batch->tokens = malloc((header->tokens + (last - first) + 1) * sizeof(uint32_t));
    if (!batch->tokens)
        abort();
    for (uint32_t i = first; i < last; i++) {
        struct wire_chunk chunk = batch->chunks[i];
        for (uint32_t j = 0; j <= chunk.length; j++) {
            uint32_t offset = chunk.start + j;
            bool beyond = offset == job->lengths[chunk.piece] && !continues(job, chunk.piece);
            uint32_t token = fake_token(job, header->step, header->microbatch, chunk.piece, offset);
            put_token(batch, token_bytes(job), beyond ? 0 : token);
        }
    }
}

static void damage_tables(struct fake_batch *batch, enum fake_damage damage)
{
    switch (damage) {
    case FAKE_EMPTY_PIECE:
        batch->pieces[0].length = 0;
        break;
    case FAKE_LONGER_PIECE:
        batch->pieces[0].length++;
        break;
    case FAKE_UNKNOWN_SOURCE:
        batch->pieces[0].source = 7;
        break;
    case FAKE_ENDLESS_OFFSET:
        batch->pieces[0].offset = UINT64_MAX;
        break;
    case FAKE_CHUNK_BEYOND_PIECE:
        batch->chunks[0].start = UINT32_MAX - 1;
        break;
    case FAKE_CHUNK_WITHOUT_PIECE:
        batch->chunks[0].piece = 1000;
        break;
    case FAKE_EMPTY_CHUNK:
        batch->chunks[0].length = 0;
        break;
    case FAKE_CHUNK_TWICE: /* in place of another of the same length */
        batch->chunks[1].start = batch->chunks[0].start;
        break;
    case FAKE_TORN_PIECES:
        batch->pieces_bytes--;
        break;
    case FAKE_TORN_CHUNKS:
        batch->chunks_bytes--;
        break;
    default:
        break;
    }
}

static void damage_payload(struct fake_batch *batch, enum fake_damage damage, uint32_t width)
{
    switch (damage) {
    case FAKE_SHORT_PAYLOAD:
        batch->tokens_bytes -= width;
        break;
    case FAKE_LONG_PAYLOAD:
        put_token(batch, width, 0);
        break;
    case FAKE_BIG_TOKEN:
        memset(batch->tokens, 0xff, width);
        break;
    case FAKE_NO_PAYLOAD:
        batch->frames--;
        break;
    case FAKE_FRAME_TOO_MANY:
        batch->frames++;
        break;
    default:
        break;
    }
}

static void damage_header(struct fake_batch *batch, enum fake_damage damage)
{
    Ballast__V1__Batch *header = &batch->header;
    switch (damage) {
    case FAKE_BAD_CHECKSUM:
        header->tokens_xxh3 ^= 1;
        break;
    case FAKE_WRONG_LOSS:
        header->microbatch_loss_tokens--;
        break;
    case FAKE_WRONG_RANK_CHUNKS:
        header->n_rank_chunks--;
        break;
    case FAKE_WRONG_TOKENS:
        header->tokens--;
        break;
    case FAKE_HUGE_PADDING:
        header->padded_tokens = UINT32_MAX;
        break;
    case FAKE_OTHER_STEP:
        header->step++;
        break;
    case FAKE_OTHER_MICROBATCH:
        header->microbatch++;
        break;
    case FAKE_OTHER_RANK:
        header->cp_rank ^= 1;
        break;
    case FAKE_STATUS_BEYOND:
        header->status = 177;
        break;
    case FAKE_NO_HEADER:
        batch->no_header = true;
        break;
    default:
        break;
    }
}

static void fill_content(struct fake_batch *batch, const struct fake_job *job,
                         enum fake_damage damage)
{
    Ballast__V1__Batch *header = &batch->header;
    fill_pieces(batch, job);
    fill_chunks(batch, job, header->cp_rank);
    fill_tokens(batch, job);
    damage_tables(batch, damage);
    damage_payload(batch, damage, token_bytes(job));
    header->pieces_xxh3 = wire_checksum(batch->pieces, batch->pieces_bytes);
    header->chunks_xxh3 = wire_checksum(batch->chunks, batch->chunks_bytes);
    header->tokens_xxh3 = wire_checksum(batch->tokens, batch->tokens_bytes);
    header->workload = 1234;
}

void fake_batch_init(struct fake_batch *batch, const struct fake_job *job,
                     const Ballast__V1__GetBatch *get, const struct fake_behaviour *behaviour,
                     uint8_t salt)
{
    *batch = (struct fake_batch){ .header = BALLAST__V1__BATCH__INIT };
    Ballast__V1__Batch *header = &batch->header;
    header->request = get->request;
    header->step = get->step;
    header->microbatch = get->microbatch;
    header->cp_rank = get->cp_rank;
    header->parts = get->parts;
    fake_digest(job, get->step, (uint8_t)(behaviour->digest_salt + salt), batch->digest);
    fake_digest(job, UINT64_MAX, salt, batch->job_digest);
    header->digest = (ProtobufCBinaryData){ .len = 16, .data = batch->digest };
    header->job_digest = (ProtobufCBinaryData){ .len = 16, .data = batch->job_digest };
    batch->frames = get->parts ? 3 : 0;
    if (get->parts)
        fill_content(batch, job, behaviour->damage);
    damage_header(batch, behaviour->damage);
}

void fake_batch_fini(struct fake_batch *batch)
{
    free(batch->tokens);
}
