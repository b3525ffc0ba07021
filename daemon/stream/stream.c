#include "stream/stream.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/wide.h"

/* One source as the stream walks it; everything but the cursor follows from the cursor. */
struct lane {
    const struct source *source;
    uint64_t weight;
    struct permutation permutation;     /* of the cursor's epoch */
    uint64_t key;                       /* of (seed, source name); mixed with the epoch */
    uint64_t document, document_tokens; /* begun last; valid while the cursor's offset is not 0 */
    bool any_dropped;
    bool *dropped; /* by number of the shard */
};

struct stream {
    struct stream_options options;
    size_t count;
    struct lane *lanes;
    struct source_cursor *cursors;
    const struct source *changed; /* NULL: none has */
};

static void start_epoch(struct lane *lane, uint64_t epoch)
{
    permutation_init(&lane->permutation, lane->source->documents, mix_keys(lane->key, epoch));
}

static bool exhausted(const struct lane *lane, const struct source_cursor *cursor)
{
    return cursor->offset == 0 && lane->source->epochs != 0 &&
           cursor->epoch >= lane->source->epochs;
}

static bool is_dropped(const struct lane *lane, uint64_t document)
{
    return lane->any_dropped && lane->dropped[source_shard_number(lane->source, document)];
}

static bool too_long(const struct stream *stream, uint64_t tokens)
{
    return stream->options.long_documents == LONG_DROP && tokens > stream->options.context_window;
}

/* Can this document ever be handed out? */
static bool usable(const struct stream *stream, const struct lane *lane, uint64_t document,
                   uint64_t tokens)
{
    return tokens > 0 && !too_long(stream, tokens) && !is_dropped(lane, document);
}

static bool any_usable(const struct stream *stream, const struct lane *lane)
{
    const struct source *source = lane->source;
    for (uint64_t document = 0; document < source->documents; document++)
        if (usable(stream, lane, document, source_document_tokens(source, document)))
            return true;
    return false;
}

/* Of a source that ends it is no matter whether its documents fit: there need only be some. */
static bool any_left(const struct stream *stream, const struct lane *lane)
{
    const struct source *source = lane->source;
    if (source->epochs == 0)
        return any_usable(stream, lane);
    for (size_t i = 0; i < source->shard_count; i++)
        if (!lane->dropped[i] && source_shard_tokens(source, i) > 0)
            return true;
    return false;
}

static void count_skipped(struct source_cursor *cursor, uint64_t tokens)
{
    if (tokens == 0) {
        cursor->empty_documents++;
    } else {
        cursor->dropped_documents++;
        cursor->dropped_tokens += tokens;
    }
}

/* Every token of every epoch that is over was handed out or dropped; sums wrap alike. */
static bool adds_up(const struct lane *lane, const struct source_cursor *cursor)
{
    return cursor->tokens + cursor->dropped_tokens == cursor->epoch * lane->source->tokens;
}

/* Begins the lane's next usable document; false when its last epoch is over, or nothing fits. */
static bool begin_document(struct stream *stream, struct lane *lane, struct source_cursor *cursor)
{
    while (!exhausted(lane, cursor)) {
        if (cursor->position == lane->source->documents) {
            cursor->position = 0;
            start_epoch(lane, ++cursor->epoch);
            if (!adds_up(lane, cursor)) {
                stream->changed = lane->source;
                return false;
            }
            continue;
        }
        lane->document = permutation_at(&lane->permutation, cursor->position++);
        lane->document_tokens = source_document_tokens(lane->source, lane->document);
        if (usable(stream, lane, lane->document, lane->document_tokens)) {
            cursor->documents++;
            return true;
        }
        count_skipped(cursor, lane->document_tokens);
    }
    return false;
}

/* Its shard may have been dropped since the document was begun. */
static void drop_rest(const struct lane *lane, struct source_cursor *cursor)
{
    if (cursor->offset == 0 || !is_dropped(lane, lane->document))
        return;
    cursor->dropped_tokens += lane->document_tokens - cursor->offset;
    cursor->offset = 0;
}

/* Hands out the lane's next piece; false when the source is exhausted. */
static bool lane_next(struct stream *stream, size_t index, struct piece *ret_piece)
{
    struct lane *lane = &stream->lanes[index];
    struct source_cursor *cursor = &stream->cursors[index];
    drop_rest(lane, cursor);
    if (cursor->offset == 0 && !begin_document(stream, lane, cursor))
        return false;
    if (cursor->offset >= lane->document_tokens) {
        stream->changed = lane->source;
        return false;
    }

    uint64_t left = lane->document_tokens - cursor->offset;
    uint32_t window = stream->options.context_window;
    uint32_t length = left < window ? (uint32_t)left : window;
    *ret_piece = (struct piece){ .document = lane->document,
                                 .offset = cursor->offset,
                                 .length = length,
                                 .source = (uint16_t)index,
                                 .flags = length == left ? PIECE_ENDS_DOCUMENT : 0 };
    cursor->tokens += length;
    cursor->blended += length;
    if (length == left) {
        cursor->offset = 0;
    } else if (stream->options.long_documents == LONG_TRUNCATE) {
        cursor->dropped_tokens += left - length;
        cursor->offset = 0;
    } else {
        cursor->offset += length;
    }
    return true;
}

/* Is source a further under its token share than source b? Exact: tokens / weight by products. */
static bool further_behind(const struct stream *stream, size_t a, size_t b)
{
    return (wide)stream->cursors[a].blended * stream->lanes[b].weight <
           (wide)stream->cursors[b].blended * stream->lanes[a].weight;
}

bool stream_next(struct stream *stream, struct piece *ret_piece)
{
    while (!stream->changed) {
        size_t next = stream->count;
        for (size_t i = 0; i < stream->count; i++)
            if (!exhausted(&stream->lanes[i], &stream->cursors[i]) &&
                (next == stream->count || further_behind(stream, i, next)))
                next = i;
        if (next == stream->count)
            return false;
        if (lane_next(stream, next, ret_piece))
            return true;
    }
    return false;
}

const struct source *stream_changed(const struct stream *stream)
{
    return stream->changed;
}

const struct source_cursor *stream_cursors(const struct stream *stream)
{
    return stream->cursors;
}

uint64_t stream_position(const struct stream *stream, size_t source, uint64_t epoch,
                         uint64_t document)
{
    const struct lane *lane = &stream->lanes[source];
    struct permutation permutation;
    permutation_init(&permutation, lane->source->documents, mix_keys(lane->key, epoch));
    return permutation_index(&permutation, document);
}

void stream_seek(struct stream *stream, const struct source_cursor *cursors)
{
    for (size_t i = 0; i < stream->count; i++) {
        struct lane *lane = &stream->lanes[i];
        stream->cursors[i] = cursors[i];
        start_epoch(lane, cursors[i].epoch);
        if (cursors[i].offset != 0) {
            lane->document = permutation_at(&lane->permutation, cursors[i].position - 1);
            lane->document_tokens = source_document_tokens(lane->source, lane->document);
        }
    }
}

int stream_drop_shard(struct stream *stream, size_t source, size_t shard, struct error *err)
{
    struct lane *lane = &stream->lanes[source];
    bool any = lane->any_dropped, before = lane->dropped[shard];
    lane->any_dropped = lane->dropped[shard] = true;
    if (any_left(stream, lane))
        return 0;
    lane->any_dropped = any;
    lane->dropped[shard] = before;
    return error_set(err, EX_DATAERR,
                     "source %s: without the shard %s nothing of it is left: put the shard back, "
                     "or remove the source",
                     lane->source->name, source_shard_name(lane->source, shard));
}

void stream_keep_shards(struct stream *stream)
{
    for (size_t i = 0; i < stream->count; i++) {
        struct lane *lane = &stream->lanes[i];
        memset(lane->dropped, 0, lane->source->shard_count * sizeof *lane->dropped);
        lane->any_dropped = false;
    }
}

static int check_sources(const struct stream *stream, struct error *err)
{
    for (size_t i = 0; i < stream->count; i++) {
        const struct source *source = stream->lanes[i].source;
        if (source->epochs == 0 && !any_usable(stream, &stream->lanes[i]))
            return error_set(err, EX_DATAERR,
                             "source %s repeats for ever but holds no document of 1 to %u tokens: "
                             "remove it, or use long_documents: split",
                             source->name, stream->options.context_window);
    }
    return 0;
}

static int open_lane(struct lane *lane, const struct source *source, uint64_t weight, uint64_t seed,
                     struct error *err)
{
    *lane = (struct lane){ .source = source,
                           .weight = weight,
                           .key = mix_keys(seed, XXH3_64bits(source->name, strlen(source->name))),
                           .dropped = calloc(source->shard_count, sizeof *lane->dropped) };
    if (!lane->dropped)
        return error_memory(err, "opening the stream");
    start_epoch(lane, 0);
    return 0;
}

int stream_new(const struct corpus *corpus, const struct stream_options *options,
               struct stream **ret_stream, struct error *err)
{
    struct stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return error_memory(err, "opening the stream");
    stream->options = *options;
    stream->options.weights = NULL; /* each lane has its own */
    stream->count = corpus->source_count;
    stream->lanes = calloc(stream->count, sizeof *stream->lanes);
    stream->cursors = calloc(stream->count, sizeof *stream->cursors);
    if (!stream->lanes || !stream->cursors) {
        stream_free(stream);
        return error_memory(err, "opening the stream");
    }
    int status = 0;
    for (size_t i = 0; i < stream->count && !status; i++) {
        const struct source *source = &corpus->sources[i];
        uint64_t weight = options->weights ? options->weights[i] : source->weight;
        status = open_lane(&stream->lanes[i], source, weight, options->seed, err);
    }
    if (!status)
        status = check_sources(stream, err);
    if (status) {
        stream_free(stream);
        return status;
    }
    *ret_stream = stream;
    return 0;
}

void stream_free(struct stream *stream)
{
    if (!stream)
        return;
    for (size_t i = 0; stream->lanes && i < stream->count; i++)
        free(stream->lanes[i].dropped);
    free(stream->lanes);
    free(stream->cursors);
    free(stream);
}
