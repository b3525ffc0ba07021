/* One source of the corpus: its spec checked, its shards opened in order. */
#ifndef BALLAST_CORPUS_SOURCE_H
#define BALLAST_CORPUS_SOURCE_H

#include <stdint.h>

#include "base/error.h"
#include "corpus/corpus.h"
#include "corpus/shard.h"
#include "corpus/shard_paths.h"

/* Progress over all sources of a corpus. */
struct open_progress {
    corpus_progress *call; /* may be NULL */
    void *context;
    uint64_t done, total; /* index bytes */
};

/* Name, weight and paths alone, EX_CONFIG. */
int source_check_spec(const struct source_spec *spec, struct error *err);

/*
 * Opens every shard of `paths` into `source` (all zero), which then is the caller's to close, also
 * after a failure. EX_DATAERR also when the source holds no token at all.
 */
int source_open(struct source *source, const struct source_spec *spec,
                const struct shard_paths *paths, struct open_progress *progress, struct error *err);

/* Accepts a source that is all zero or half open. */
void source_close(struct source *source);

/* The shard of a document (< source->documents); *ret_within is its number within that shard. */
const struct shard *source_shard(const struct source *source, uint64_t document,
                                 uint64_t *ret_within);

#endif
