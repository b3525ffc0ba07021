/* Records of a reply's raw frames, read one by one: ZeroMQ does not align what it hands out. */
#ifndef BALLAST_CLIENT_TABLES_H
#define BALLAST_CLIENT_TABLES_H

#include <string.h>

#include "frames.h"
#include "reply.h"
#include "wire/table.h"

static inline struct wire_piece piece_at(const struct frames *frames, size_t index)
{
    struct wire_piece piece;
    memcpy(&piece, frames_data(frames, FRAME_PIECES) + index * sizeof piece, sizeof piece);
    return piece;
}

static inline struct wire_chunk chunk_at(const struct frames *frames, size_t index)
{
    struct wire_chunk chunk;
    memcpy(&chunk, frames_data(frames, FRAME_CHUNKS) + index * sizeof chunk, sizeof chunk);
    return chunk;
}

static inline size_t piece_count(const struct frames *frames)
{
    return frames_size(frames, FRAME_PIECES) / sizeof(struct wire_piece);
}

/* Does the chunk end with a token that has no label? */
static inline bool ends_document(struct wire_chunk chunk, struct wire_piece piece)
{
    return (piece.flags & WIRE_PIECE_ENDS_DOCUMENT) && chunk.start + chunk.length == piece.length;
}

#endif
