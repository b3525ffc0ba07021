/* The frames of a made-up micro-batch, as a daemon would send them. */
#ifndef BALLAST_SUPPORT_FAKE_BATCH_H
#define BALLAST_SUPPORT_FAKE_BATCH_H

#include "support/fake_daemon.h"
#include "wire/frame.h"
#include "wire/table.h"

#define FAKE_MAX_CP 8
#define FAKE_MAX_CHUNKS (FAKE_MAX_PIECES * 2 * FAKE_MAX_CP)

struct fake_batch {
    Ballast__V1__Batch header;
    uint8_t digest[16], job_digest[16];
    uint32_t rank_chunks[FAKE_MAX_CP + 1];
    struct wire_piece pieces[FAKE_MAX_PIECES];
    struct wire_chunk chunks[FAKE_MAX_CHUNKS];
    unsigned char *tokens;                           /* malloc */
    size_t pieces_bytes, chunks_bytes, tokens_bytes; /* of the frames */
    unsigned frames;                                 /* sent behind the header */
    bool no_header;                                  /* garbage goes in its place */
};

/* Fills `batch` with the answer to `get`, damaged as told, by a ledger whose entries up to the step
 * have `salt`; fake_batch_fini in the end. */
void fake_batch_init(struct fake_batch *batch, const struct fake_job *job,
                     const Ballast__V1__GetBatch *get, const struct fake_behaviour *behaviour,
                     uint8_t salt);

void fake_batch_fini(struct fake_batch *batch);

#endif
