/*
 * A file mapped read-only, whose pages are given back once they have been looked at. When the file
 * is cut short or cannot be read, its bytes become zeros and the mapping is broken for good.
 */
#ifndef BALLAST_CORPUS_MAPPING_H
#define BALLAST_CORPUS_MAPPING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/digest.h"
#include "base/error.h"
#include "corpus/mapping_guard.h"
#include "corpus/shard_file.h"

/* Contents are hashed and checked in blocks of this size, so that memory stays flat. */
#define CONTENT_BLOCK_BYTES ((size_t)1 << 20)

struct mapping {
    const unsigned char *bytes; /* NULL when nothing is mapped */
    size_t size;
    struct mapping_guard *guard;
};

/*
 * Maps the whole of `file` (not empty), which may be closed afterwards. On success *ret_mapping is
 * the caller's until mapping_close. EX_OSERR when the system refuses; `path` is for the error.
 */
int mapping_open(const struct shard_file *file, const char *path, struct mapping *ret_mapping,
                 struct error *err);

/* False: bytes read before this call may not have been the file's. */
bool mapping_intact(const struct mapping *mapping);

/* Accepts an empty mapping. */
void mapping_close(struct mapping *mapping);

/* Lets go of the resident pages that lie wholly inside [begin, end); they come back on demand. */
void mapping_release(const struct mapping *mapping, size_t begin, size_t end);

/* From now on pages are touched in no order: no read-ahead; and nothing stays resident. */
void mapping_settle(const struct mapping *mapping);

/* Chains the contents, block by block, onto `seed`. */
struct digest mapping_digest(const struct mapping *mapping, struct digest seed);

#endif
