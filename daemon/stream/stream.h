/*
 * The stream: the deterministic order of pieces (DESIGN sections 3 and 5). Each source is shuffled
 * by a permutation keyed by (seed, source name, epoch); the source furthest under its token share
 * goes next; documents over the context window are split, truncated or dropped.
 *
 * Pure: a function of (corpus, options, cursor). No clock, no I/O but page-ins, one thread at a
 * time.
 */
#ifndef BALLAST_STREAM_STREAM_H
#define BALLAST_STREAM_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/permutation.h"
#include "base/piece.h"
#include "corpus/corpus.h"

enum long_documents { LONG_SPLIT, LONG_TRUNCATE, LONG_DROP };

struct stream_options {
    uint64_t seed;
    uint32_t context_window; /* longest piece in tokens */
    enum long_documents long_documents;
    const uint64_t *weights; /* of each source, copied; NULL: as the corpus was opened */
};

/* Where one source stands; these integers are its whole state. */
struct source_cursor {
    uint64_t epoch;     /* 0-based */
    uint64_t position;  /* documents of this epoch already begun */
    uint64_t offset;    /* tokens already handed out of the document begun last; 0: none pending */
    uint64_t documents; /* documents handed out, whole or in pieces, since the start */
    uint64_t tokens;    /* tokens handed out since the start */
    uint64_t blended;   /* of them, those that count for the blend: since weights last changed */
    uint64_t empty_documents;   /* skipped because they hold no token */
    uint64_t dropped_documents; /* skipped: too long (`drop`), or of a shard that is dropped */
    uint64_t dropped_tokens;    /* of these, and with `truncate` */
};

struct stream; /* opaque */

/*
 * A stream at its beginning over `corpus`, which must outlive it. EX_DATAERR when a source that
 * repeats for ever has no document that can ever be handed out. *ret_stream is untouched on
 * failure.
 */
int stream_new(const struct corpus *corpus, const struct stream_options *options,
               struct stream **ret_stream, struct error *err);
void stream_free(struct stream *stream);

/*
 * The next piece, with `arrived` 0. Returns false at the end of data, and then always.
 * Every piece has 1 <= length <= context_window.
 */
bool stream_next(struct stream *stream, struct piece *ret_piece);

/*
 * NULL, or the source whose index has changed since the stream was opened: an epoch had not the
 * tokens it should, or a document that was begun has become shorter. stream_next then returns
 * false; what it gave before may be wrong too.
 */
const struct source *stream_changed(const struct stream *stream);

/* The cursors of all sources, `corpus->source_count` of them. */
const struct source_cursor *stream_cursors(const struct stream *stream);

/* The position at which a document of a source begins in an epoch: a cursor's, just before it. */
uint64_t stream_position(const struct stream *stream, size_t source, uint64_t epoch,
                         uint64_t document);

/*
 * Drops a shard: documents of it that come from now on, and the rest of one that was begun. Not
 * part of the cursors. EX_DATAERR when nothing is left of the source, which is then as it was.
 */
int stream_drop_shard(struct stream *stream, size_t source, size_t shard, struct error *err);

/* Drops none any more. */
void stream_keep_shards(struct stream *stream);

/* Puts the stream where `cursors` say; they must come from a stream over the same corpus. */
void stream_seek(struct stream *stream, const struct source_cursor *cursors);

#endif
