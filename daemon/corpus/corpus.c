#include "corpus/corpus.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/fingerprint.h"
#include "corpus/shard.h"
#include "corpus/source.h"

#define MOST_SOURCES 65536 /* struct piece names a source in 16 bits */

static int check_specs(const struct source_spec *specs, size_t count, struct error *err)
{
    if (count == 0 || count > MOST_SOURCES)
        return error_set(err, EX_CONFIG, "sources: there are %zu, expected 1 to %d", count,
                         MOST_SOURCES);
    for (size_t i = 0; i < count; i++) {
        int code = source_check_spec(&specs[i], err);
        if (code)
            return code;
        for (size_t j = 0; j < i; j++)
            if (strcmp(specs[i].name, specs[j].name) == 0)
                return error_set(err, EX_CONFIG,
                                 "source %s: the name is used twice, expected unique names",
                                 specs[i].name);
    }
    return 0;
}

/* Finds the shards of every source, so that progress knows the whole. */
static int find_paths(const struct source_spec *specs, size_t count, struct shard_paths *paths,
                      uint64_t *ret_bytes, struct error *err)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        int code = shard_paths_find(&specs[i], &paths[i], err);
        if (code) {
            error_prefix(err, "source %s", specs[i].name);
            return code;
        }
        for (size_t j = 0; j < paths[i].count; j++)
            bytes += paths[i].items[j].bytes;
    }
    *ret_bytes = bytes;
    return 0;
}

static int open_sources(struct corpus *corpus, const struct source_spec *specs,
                        struct shard_paths *paths, struct open_progress *progress,
                        struct error *err)
{
    int code = find_paths(specs, corpus->source_count, paths, &progress->total, err);
    for (size_t i = 0; i < corpus->source_count && !code; i++)
        code = source_open(&corpus->sources[i], &specs[i], &paths[i], progress, err);
    return code;
}

static int open_corpus(struct corpus *corpus, const struct source_spec *specs,
                       struct open_progress *progress, struct error *err)
{
    struct shard_paths *paths = calloc(corpus->source_count, sizeof *paths);
    corpus->sources = calloc(corpus->source_count, sizeof *corpus->sources);
    int code = paths && corpus->sources ? open_sources(corpus, specs, paths, progress, err)
                                        : error_memory(err, "opening the corpus");
    for (size_t i = 0; paths && i < corpus->source_count; i++)
        shard_paths_fini(&paths[i]);
    free(paths);
    return code;
}

static void sum_up(struct corpus *corpus)
{
    corpus->has_tokens = true;
    for (size_t i = 0; i < corpus->source_count; i++) {
        const struct source *source = &corpus->sources[i];
        corpus->documents += source->documents;
        corpus->tokens += source->tokens;
        corpus->has_tokens &= shard_format_of(source->format)->has_tokens;
    }
    corpus->fingerprint = corpus_fingerprint(corpus);
}

int corpus_open(const struct source_spec *specs, size_t count, uint32_t vocab_size,
                corpus_progress *progress, void *context, struct corpus **ret_corpus,
                struct error *err)
{
    int code = check_specs(specs, count, err);
    if (code)
        return code;
    struct corpus *corpus = calloc(1, sizeof *corpus);
    if (!corpus)
        return error_memory(err, "opening the corpus");
    corpus->source_count = count;
    corpus->vocab_size = vocab_size;
    corpus->token_bytes = vocab_size >= 1 && vocab_size <= 65536 ? 2 : 4;
    struct open_progress told = { .call = progress, .context = context };
    code = open_corpus(corpus, specs, &told, err);
    if (code) {
        corpus_close(corpus);
        return code;
    }
    sum_up(corpus);
    *ret_corpus = corpus;
    return 0;
}

void corpus_close(struct corpus *corpus)
{
    if (!corpus)
        return;
    for (size_t i = 0; corpus->sources && i < corpus->source_count; i++)
        source_close(&corpus->sources[i]);
    free(corpus->sources);
    free(corpus);
}

size_t corpus_find_source(const struct corpus *corpus, const char *name)
{
    size_t index = 0;
    while (index < corpus->source_count && strcmp(corpus->sources[index].name, name) != 0)
        index++;
    return index;
}

int corpus_check(const struct corpus *corpus, struct error *err)
{
    for (size_t i = 0; i < corpus->source_count; i++)
        for (size_t j = 0; j < corpus->sources[i].shard_count; j++) {
            int code = shard_check(&corpus->sources[i].shards[j], err);
            if (code)
                return code;
        }
    return 0;
}

/* A document or a range that is not there is a mistake of the caller, told by number. */
static int refuse_document(const struct source *source, uint64_t document, struct error *err)
{
    return error_set(err, EX_SOFTWARE,
                     "source %s: document %" PRIu64 " was asked for, expected below %" PRIu64,
                     source->name, document, source->documents);
}

static int check_range(const struct source *source, uint64_t document, uint64_t tokens,
                       uint64_t offset, uint32_t count, struct error *err)
{
    if (offset > tokens || count > tokens - offset)
        return error_set(err, EX_SOFTWARE,
                         "source %s: %" PRIu32 " tokens from token %" PRIu64 " of document %" PRIu64
                         " were asked for, which has %" PRIu64,
                         source->name, count, offset, document, tokens);
    return 0;
}

int corpus_read(const struct corpus *corpus, size_t source_number, uint64_t document,
                uint64_t offset, uint32_t count, void *tokens, struct error *err)
{
    if (source_number >= corpus->source_count)
        return error_set(err, EX_SOFTWARE, "source %zu was asked for, expected below %zu",
                         source_number, corpus->source_count);
    const struct source *source = &corpus->sources[source_number];
    if (!shard_format_of(source->format)->has_tokens)
        return error_set(err, EX_UNAVAILABLE,
                         "source %s has document lengths only and no tokens: it can be planned "
                         "and simulated, not served",
                         source->name);
    if (document >= source->documents)
        return refuse_document(source, document, err);
    uint64_t within;
    const struct shard *shard = source_shard(source, document, &within);
    struct extent extent = shard->format->document(shard->index, within);
    int code = shard_check(shard, err); /* of what has just been looked up */
    if (!code)
        code = check_range(source, document, extent.tokens, offset, count, err);
    if (code)
        return code;
    uint64_t begin = extent.offset;
    unsigned stored_bytes = token_type_bytes(shard->stored.type);
    return token_file_read(&shard->stored, begin + offset * stored_bytes, count,
                           corpus->token_bytes, corpus->vocab_size, tokens, err);
}
