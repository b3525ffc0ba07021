/*
 * Records of the raw frames behind a BATCH header (PROTOCOL.md, Tables), little-endian, no padding.
 */
#ifndef BALLAST_WIRE_TABLE_H
#define BALLAST_WIRE_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* Frame PART_PIECES: the pieces of the micro-batch, in the order in which they are concatenated. */
struct wire_piece {
    uint64_t document; /* number within its source */
    uint64_t offset;   /* first token, from the start of the document */
    uint64_t arrived;  /* step in which it entered the packer */
    uint32_t length;   /* tokens, >= 1 */
    uint16_t source;   /* index into HelloReply.sources */
    uint16_t flags;    /* WIRE_PIECE_ENDS_DOCUMENT */
};

#define WIRE_PIECE_ENDS_DOCUMENT 1u

/* Frame PART_CHUNKS: the chunks of all CP ranks, rank by rank, in local order. */
struct wire_chunk {
    uint32_t piece;  /* index into the piece table */
    uint32_t start;  /* first token, from the start of the piece */
    uint32_t length; /* tokens, >= 1 */
};

/*
 * Frame PART_TOKENS: for each chunk of this rank, in local order, length + 1 tokens: the chunk's
 * own and the document's next one, 0 where the document ends there.
 */

_Static_assert(sizeof(struct wire_piece) == 32, "wire layout");
_Static_assert(sizeof(struct wire_chunk) == 12, "wire layout");

/* XXH3-64 of a frame. */
uint64_t wire_checksum(const void *bytes, size_t count);

#endif
