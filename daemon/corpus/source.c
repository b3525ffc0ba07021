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

/* Is it the shard that is at fault, and not this machine? */
static bool is_bad(int code)
{
    return code == EX_DATAERR || code == EX_NOINPUT || code == EX_IOERR;
}

static int leave_out(struct source *source, const char *path, const char *reason, struct error *err)
{
    struct left_out one = { strdup(path), strdup(reason) };
    if (!one.path || !one.reason) {
        free(one.path);
        free(one.reason);
        return error_memory(err, "opening a source");
    }
    source->left_out[source->left_out_count++] = one;
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

/* Opens one, or leaves it out. */
static int take_shard(struct source *source, const struct source_spec *spec, const char *path,
                      struct error *err)
{
    struct shard shard;
    struct error why = { 0 };
    int code = shard_open(shard_format_of(spec->format), path, &shard, &why);
    if (!code) {
        add_shard(source, &shard);
        return 0;
    }
    if (spec->leave_out_bad && is_bad(code))
        return leave_out(source, path, why.text, err);
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
    if (!source->name || !source->shards || !source->first_document || !source->left_out)
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

void source_close(struct source *source)
{
    for (size_t i = 0; i < source->shard_count; i++)
        shard_close(&source->shards[i]);
    for (size_t i = 0; i < source->left_out_count; i++) {
        free(source->left_out[i].path);
        free(source->left_out[i].reason);
    }
    free(source->left_out);
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
    const char *path = source->shards[number].path, *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
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
