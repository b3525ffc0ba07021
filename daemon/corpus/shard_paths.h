/* From what a configuration says of a source to the shards it means. */
#ifndef BALLAST_CORPUS_SHARD_PATHS_H
#define BALLAST_CORPUS_SHARD_PATHS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "corpus/corpus.h"

struct shard_path {
    char *path;     /* of the file that names the shard */
    uint64_t bytes; /* its size, 0 when it cannot be told; for progress only */
    dev_t device;
    ino_t inode;
};

/* Zero-initialise; shard_paths_fini. */
struct shard_paths {
    struct shard_path *items; /* in order of name, byte by byte, each once */
    size_t count, capacity;
};

/*
 * Expands the paths of `spec`: files, globs, and for pairs either member or the bare prefix. A
 * shard that is named twice (overlapping globs, `.idx` and `.bin`) counts once. EX_NOINPUT for a
 * path that matches nothing, EX_CONFIG for a match that is no shard, or for one file under two
 * names, EX_OSERR for memory. On failure `paths` holds what was found so far.
 */
int shard_paths_find(const struct source_spec *spec, struct shard_paths *paths, struct error *err);
void shard_paths_fini(struct shard_paths *paths);

/*
 * Gives the `.idx` that names the pair to which `path` (either member or the bare prefix) belongs,
 * the caller's to free; it need not exist. NULL when `path` names no pair. EX_OSERR for memory.
 */
int pair_index_path(const char *path, char **ret_path, struct error *err);

#endif
