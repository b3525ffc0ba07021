#include "state/snapshot.h"

/* The stream takes a cursor's word for where it stands: it must point into the source. */
static int check_cursor(const struct source_cursor *cursor, const struct source *source,
                        struct error *err)
{
    bool beyond =
        cursor->position > source->documents || (source->epochs && cursor->epoch > source->epochs);
    bool nowhere = cursor->offset && cursor->position == 0;
    if (beyond || nowhere)
        return error_set(err, EX_DATAERR,
                         "source %s: it stands at document %llu of epoch %llu, the source has %llu "
                         "documents",
                         source->name, (unsigned long long)cursor->position,
                         (unsigned long long)cursor->epoch, (unsigned long long)source->documents);
    return 0;
}

static int check_piece(const struct piece *piece, const struct corpus *corpus, uint32_t window,
                       struct error *err)
{
    const struct source *source =
        piece->source < corpus->source_count ? &corpus->sources[piece->source] : NULL;
    bool exists = source && piece->document < source->documents && piece->length <= window;
    uint64_t tokens = exists ? source_document_tokens(source, piece->document) : 0;
    if (exists && piece->length <= tokens && piece->offset <= tokens - piece->length)
        return 0;
    return error_set(err, EX_DATAERR,
                     "a piece waits that the corpus does not have: source %u, document %llu, "
                     "tokens %llu + %u",
                     piece->source, (unsigned long long)piece->document,
                     (unsigned long long)piece->offset, piece->length);
}

int snapshot_fits(const struct planner_state *state, const struct corpus *corpus, uint32_t window,
                  struct error *err)
{
    if (state->cursor_count != corpus->source_count)
        return error_set(err, EX_DATAERR, "it holds %zu sources, the corpus %zu",
                         state->cursor_count, corpus->source_count);
    int failed = 0;
    for (size_t i = 0; i < state->cursor_count && !failed; i++)
        failed = check_cursor(&state->cursors[i], &corpus->sources[i], err);
    for (size_t i = 0; i < state->waiting_count && !failed; i++)
        failed = check_piece(&state->waiting[i].piece, corpus, window, err);
    return failed;
}
