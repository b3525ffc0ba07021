/* A planning job over length files, made from arrays: what tests of stream and planner start from.
 */
#ifndef BALLAST_TESTS_LENGTH_JOB_H
#define BALLAST_TESTS_LENGTH_JOB_H

#include "config/config.h"
#include "corpus/corpus.h"
#include "support/temp_dir.h"

struct length_source {
    const char *name;
    double weight;
    uint32_t epochs; /* 0 repeats */
    const uint32_t *lengths;
    size_t count;
};

struct length_job {
    struct temp_dir dir;
    struct config *config;
    struct corpus *corpus;
};

/*
 * Opens a job over the sources; `yaml` is the rest of the configuration (sources and cost aside).
 * Aborts with a message when that fails.
 */
struct length_job length_job_open(const char *yaml, const struct length_source *sources,
                                  size_t count);

/* The same; each source's lengths lie in `shards` (at most 10) files, evenly: NAME-0, NAME-1, ...
 */
struct length_job length_job_open_sharded(const char *yaml, const struct length_source *sources,
                                          size_t count, size_t shards);
void length_job_close(struct length_job *job);

/*
 * `count` lengths from 1 to `most`, most of them short and some long, as corpora are; the same for
 * the same seed. The caller's to free.
 */
uint32_t *heavy_tailed_lengths(uint64_t seed, size_t count, uint32_t most);

#endif
