/* A piece: a document, or one part of a document cut to the context window (DESIGN section 2). */
#ifndef BALLAST_BASE_PIECE_H
#define BALLAST_BASE_PIECE_H

#include <stdint.h>

/* The piece's last token is the last of its document, so that token has no label. */
#define PIECE_ENDS_DOCUMENT 1u

/*
 * Laid out without padding in little-endian fields: the same bytes are hashed into the plan digest
 * and sent on the wire (PROTOCOL.md, piece table).
 */
struct piece {
    uint64_t document; /* number within its source, over the source's shards in order */
    uint64_t offset;   /* first token, counted from the start of the document */
    uint64_t arrived;  /* step in which the stream handed it to the packer */
    uint32_t length;   /* tokens, at least 1 */
    uint16_t source;   /* index into the job's sources */
    uint16_t flags;    /* PIECE_ENDS_DOCUMENT */
};

_Static_assert(sizeof(struct piece) == 32, "struct piece is hashed and sent as it lies");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "Ballast runs on little-endian machines");

#endif
