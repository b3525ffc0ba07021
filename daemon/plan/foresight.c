#include "plan/foresight.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

int foresight_open(struct foresight *foresight, const struct corpus *corpus,
                   const struct stream_options *options, struct error *err)
{
    return stream_new(corpus, options, &foresight->scout, err);
}

void foresight_close(struct foresight *foresight)
{
    stream_free(foresight->scout);
    free(foresight->lengths);
    *foresight = (struct foresight){ 0 };
}

static int look_at_next(struct foresight *foresight, uint32_t length, struct error *err)
{
    /* What has passed makes room at the front once it outweighs what is to come. */
    if (foresight->head > foresight->count) {
        memmove(foresight->lengths, foresight->lengths + foresight->head,
                foresight->count * sizeof *foresight->lengths);
        foresight->head = 0;
    }
    size_t end = foresight->head + foresight->count;
    if (!grow(foresight->lengths, &foresight->capacity, end + 1))
        return error_memory(err, "looking ahead in the stream");
    foresight->lengths[end] = length;
    foresight->count++;
    foresight->tokens += length;
    return 0;
}

void foresight_pass(struct foresight *foresight)
{
    struct piece piece;
    if (foresight->count == 0) {
        stream_next(foresight->scout, &piece); /* the two stand together: step along */
        return;
    }
    foresight->tokens -= foresight->lengths[foresight->head];
    foresight->head++;
    foresight->count--;
}

void foresight_seek(struct foresight *foresight, const struct source_cursor *cursors)
{
    stream_seek(foresight->scout, cursors);
    foresight->head = foresight->count = 0;
    foresight->tokens = 0;
}

int foresight_reach(struct foresight *foresight, uint64_t tokens, struct error *err)
{
    struct piece piece;
    while (foresight->tokens < tokens && stream_next(foresight->scout, &piece)) {
        int status = look_at_next(foresight, piece.length, err);
        if (status)
            return status;
    }
    return 0;
}
