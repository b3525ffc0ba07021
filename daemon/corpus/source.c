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

static int open_shards(struct source *source, const struct source_spec *spec,
                       const struct shard_paths *paths, struct open_progress *progress,
                       struct error *err)
{
    const struct shard_format *format = shard_format_of(spec->format);
    for (size_t i = 0; i < paths->count; i++) {
        struct shard *shard = &source->shards[i];
        int code = shard_open(format, paths->items[i].path, shard, err);
        if (code) {
            error_prefix(err, "source %s", spec->name);
            return code;
        }
        source->shard_count++;
        source->first_document[i] = source->documents;
        source->documents += shard->documents;
        source->first_document[i + 1] = source->documents;
        source->empty_documents += shard->empty_documents;
        source->tokens += shard->tokens;
        progress->done += paths->items[i].bytes;
        if (progress->call)
            progress->call(progress->context, shard->path, progress->done, progress->total);
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
    if (!source->name || !source->shards || !source->first_document)
        return error_memory(err, "opening a source");
    int code = open_shards(source, spec, paths, progress, err);
    if (code)
        return code;
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
    free(source->shards);
    free(source->first_document);
    free(source->name);
    *source = (struct source){ 0 };
}

const struct shard *source_shard(const struct source *source, uint64_t document,
                                 uint64_t *ret_within)
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
    *ret_within = document - source->first_document[low];
    return &source->shards[low];
}

uint64_t source_document_tokens(const struct source *source, uint64_t document)
{
    uint64_t within;
    const struct shard *shard = source_shard(source, document, &within);
    return shard->format->document(shard->index, within).tokens;
}
