/*
 * Foresight: the lengths of the pieces that the stream will hand out next. A second stream runs
 * ahead of the first over the same corpus; what lies between the two is kept, in order.
 *
 * What is foreseen is a function of the first stream's position alone, so it is not part of any
 * saved state. Pure; one thread at a time.
 */
#ifndef BALLAST_PLAN_FORESIGHT_H
#define BALLAST_PLAN_FORESIGHT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "corpus/corpus.h"
#include "stream/stream.h"

struct foresight {
    struct stream *scout; /* NULL: nothing is foreseen */
    uint32_t *lengths;    /* foreseen ones: lengths[head .. head + count) */
    size_t head, count, capacity;
    uint64_t tokens; /* of these */
};

/* Starts both at the beginning; errors as stream_new. */
int foresight_open(struct foresight *foresight, const struct corpus *corpus,
                   const struct stream_options *options, struct error *err);
void foresight_close(struct foresight *foresight);

/* The first stream has handed out a piece. */
void foresight_pass(struct foresight *foresight);

/* The first stream stands at `cursors` now. */
void foresight_seek(struct foresight *foresight, const struct source_cursor *cursors);

/* Looks ahead until at least `tokens` are foreseen, or the data end. EX_OSERR. */
int foresight_reach(struct foresight *foresight, uint64_t tokens, struct error *err);

/* The foreseen lengths, foresight->count of them. Valid until the next call. */
static inline const uint32_t *foresight_lengths(const struct foresight *foresight)
{
    return foresight->count ? foresight->lengths + foresight->head : foresight->lengths;
}

#endif
