#include "support/length_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/permutation.h"

static void fail(const char *what)
{
    fprintf(stderr, "length_job: %s\n", what);
    abort();
}

/* Lengths `first` up to `end` of the source. */
static void write_shard(const struct temp_dir *dir, const char *name,
                        const struct length_source *source, size_t first, size_t end)
{
    char path[TEMP_PATH_BYTES], *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    if (!file)
        fail("out of memory");
    for (size_t i = first; i < end; i++)
        fprintf(file, "%u\n", source->lengths[i]);
    fclose(file);
    file_write(temp_path(dir, name, path), text, bytes);
    free(text);
}

static void write_lengths(const struct temp_dir *dir, const struct length_source *source,
                          size_t shards)
{
    char name[80];
    for (size_t i = 0; i < shards; i++) {
        snprintf(name, sizeof name, "%s-%zu", source->name, i);
        write_shard(dir, shards == 1 ? source->name : name, source, source->count * i / shards,
                    source->count * (i + 1) / shards);
    }
}

static char *yaml_of(const struct temp_dir *dir, const char *yaml,
                     const struct length_source *sources, size_t count, size_t shards)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    if (!file)
        fail("out of memory");
    fprintf(file, "job: test\ncost: { crossover_tokens: 1024 }\n%s\nsources:\n", yaml);
    for (size_t i = 0; i < count; i++) {
        fprintf(file, "  - { name: %s, format: lengths, paths: [\"%s/%s%s\"], weight: %.17g, ",
                sources[i].name, dir->path, sources[i].name, shards == 1 ? "" : "-*",
                sources[i].weight);
        if (sources[i].epochs)
            fprintf(file, "epochs: %u }\n", sources[i].epochs);
        else
            fprintf(file, "epochs: repeat }\n");
    }
    fclose(file);
    return text;
}

struct length_job length_job_open(const char *yaml, const struct length_source *sources,
                                  size_t count)
{
    return length_job_open_sharded(yaml, sources, count, 1);
}

struct length_job length_job_open_sharded(const char *yaml, const struct length_source *sources,
                                          size_t count, size_t shards)
{
    struct length_job job = { .dir = temp_dir_make() };
    struct error err = { 0 };
    for (size_t i = 0; i < count; i++)
        write_lengths(&job.dir, &sources[i], shards);
    char *text = yaml_of(&job.dir, yaml, sources, count, shards);
    if (config_parse("test", text, strlen(text), NULL, 0, &job.config, &err) ||
        corpus_open(job.config->sources, job.config->source_count, job.config->vocab_size, NULL,
                    NULL, &job.corpus, &err))
        fail(err.text);
    free(text);
    return job;
}

void length_job_close(struct length_job *job)
{
    corpus_close(job->corpus);
    config_free(job->config);
    temp_dir_remove(&job->dir);
}

uint32_t *heavy_tailed_lengths(uint64_t seed, size_t count, uint32_t most)
{
    uint32_t *lengths = malloc((count + 1) * sizeof *lengths);
    if (!lengths)
        fail("out of memory");
    for (size_t i = 0; i < count; i++) {
        /* A uniform exponent: as many documents between 1 and 2 as between most / 2 and most. */
        uint64_t draw = mix_keys(seed, i);
        uint32_t top = most;
        for (uint64_t halvings = draw % 8; halvings > 0 && top > 1; halvings--)
            top /= 2;
        lengths[i] = 1 + (uint32_t)(draw >> 32) % top;
    }
    return lengths;
}
