#include "corpus/source.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_NAME 63
#define WEIGHT_ONE 1048576.0 /* 2^20, the integer weight of 1.0 */
#define WEIGHT_MOST 1e9      /* as in the configuration; 2^50, and tokens x weight fits 128 bits */

static int check_name(const char *name, struct error *err)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t length = name ? strlen(name) : 0;
    if (length == 0 || length > LONGEST_NAME || name[strspn(name, allowed)] != '\0')
        return error_set(err, EX_CONFIG,
                         "source name '%.80s': expected 1 to %d characters of A-Z a-z 0-9 . _ -",
                         name ? name : "", LONGEST_NAME);
    return 0;
}

int source_check_spec(const struct source_spec *spec, struct error *err)
{
    int code = check_name(spec->name, err);
    if (code)
        return code;
    /* Written so that NaN fails too. */
    if (!(spec->weight * WEIGHT_ONE >= 1 && spec->weight <= WEIGHT_MOST))
        return error_set(err, EX_CONFIG, "source %s: weight is %g, expected 0.000001 to %.0f",
                         spec->name, spec->weight, WEIGHT_MOST);
    if (spec->path_count == 0)
        return error_set(err, EX_CONFIG, "source %s: has no paths, expected at least one",
                         spec->name);
    return 0;
}

uint64_t source_integer_weight(double weight)
{
    return (uint64_t)llround(weight * WEIGHT_ONE);
}

static int add_bad(struct shard_fault *bad, size_t *count, const char *path, const char *reason,
                   struct error *err)
{
    struct shard_fault one = { strdup(path), strdup(reason) };
    if (!one.path || !one.reason) {
        free(one.path);
        free(one.reason);
        return error_memory(err, "opening a source");
    }
    bad[(*count)++] = one;
    return 0;
}

static void add_shard(struct source *source, const struct shard *shard)
{
    source->shards[source->shard_count++] = *shard;
    source->documents += shard->documents;
    source->first_document[source->shard_count] = source->documents;
    source->empty_documents += shard->empty_documents;
    source->tokens += shard->tokens;
}

/* Is the next shard, which has this path, one of those that were dropped? */
static bool is_dropped(const struct source *source, const struct source_spec *spec,
                       const char *path)
{
    for (size_t i = 0; i < spec->dropped_count; i++)
        if (spec->dropped[i].number == source->shard_count &&
            strcmp(spec->dropped[i].name, shard_base_name(path)) == 0)
            return true;
    return false;
}

/* Opens one, or leaves it out. */
static int take_shard(struct source *source, const struct source_spec *spec, const char *path,
                      struct error *err)
{
    struct shard shard;
    struct error why = { 0 };
    bool dropped = is_dropped(source, spec, path);
    int code = shard_open(shard_format_of(spec->format), path, dropped, &shard, &why);
    if (!code) {
        add_shard(source, &shard);
        if (!shard.stored.fault)
            return 0;
        return add_bad(source->unread, &source->unread_count, path, shard.stored.fault, err);
    }
    if (spec->leave_out_bad && shard_is_bad(code))
        return add_bad(source->left_out, &source->left_out_count, path, why.text, err);
    return error_set(err, code, "source %s: %s", spec->name, why.text);
}

static int open_shards(struct source *source, const struct source_spec *spec,
                       const struct shard_paths *paths, struct open_progress *progress,
                       struct error *err)
{
    for (size_t i = 0; i < paths->count; i++) {
        const char *path = paths->items[i].path;
        int code = take_shard(source, spec, path, err);
        if (code)
            return code;
        progress->done += paths->items[i].bytes;
        if (progress->call)
            progress->call(progress->context, path, progress->done, progress->total);
    }
    return 0;
}

int source_open(struct source *source, const struct source_spec *spec,
                const struct shard_paths *paths, struct open_progress *progress, struct error *err)
{
    source->format = spec->format;
    source->weight = source_integer_weight(spec->weight);
    source->epochs = spec->epochs;
    source->name = strdup(spec->name);
    source->shards = calloc(paths->count, sizeof *source->shards);
    source->first_document = calloc(paths->count + 1, sizeof *source->first_document);
    source->left_out = calloc(paths->count, sizeof *source->left_out);
    source->unread = calloc(paths->count, sizeof *source->unread);
    if (!source->name || !source->shards || !source->first_document || !source->left_out ||
        !source->unread)
        return error_memory(err, "opening a source");
    int code = open_shards(source, spec, paths, progress, err);
    if (code)
        return code;
    if (source->shard_count == 0)
        return error_set(err, EX_DATAERR,
                         "source %s: all of its %zu shards are bad, expected a good one: %s",
                         source->name, source->left_out_count, source->left_out[0].reason);
    if (source->tokens == 0)
        return error_set(err, EX_DATAERR,
                         "source %s: its %zu shards hold %" PRIu64
                         " documents and no token at all, expected at least one token",
                         source->name, source->shard_count, source->documents);
    return 0;
}

static void free_bad(struct shard_fault *bad, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(bad[i].path);
        free(bad[i].reason);
    }
    free(bad);
}

void source_close(struct source *source)
{
    for (size_t i = 0; i < source->shard_count; i++)
        shard_close(&source->shards[i]);
    free_bad(source->left_out, source->left_out_count);
    free_bad(source->unread, source->unread_count);
    free(source->shards);
    free(source->first_document);
    free(source->name);
    *source = (struct source){ 0 };
}

size_t source_shard_number(const struct source *source, uint64_t document)
{
    /* The last shard that begins at or before the document; empty shards share a beginning. */
    size_t low = 0, high = source->shard_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (source->first_document[middle] <= document)
            low = middle;
        else
            high = middle;
    }
    return low;
}

const char *source_shard_name(const struct source *source, size_t number)
{
    return shard_base_name(source->shards[number].path);
}

uint64_t source_shard_tokens(const struct source *source, size_t number)
{
    return source->shards[number].tokens;
}

const struct shard *source_shard(const struct source *source, uint64_t document,
                                 uint64_t *ret_within)
{
    size_t number = source_shard_number(source, document);
    *ret_within = document - source->first_document[number];
    return &source->shards[number];
}

uint64_t source_document_tokens(const struct source *source, uint64_t document)
{
    uint64_t within;
    const struct shard *shard = source_shard(source, document, &within);
    return shard->format->document(shard->index, within).tokens;
}
