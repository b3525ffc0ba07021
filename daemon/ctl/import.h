/*
 * Text files made into a Megatron shard at byte level: a token is a byte, vocabulary 257, and
 * token 256 ends every document. Every file is one document.
 */
#ifndef BALLAST_CTL_IMPORT_H
#define BALLAST_CTL_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define IMPORT_VOCAB_SIZE 257
#define IMPORT_END_OF_DOCUMENT 256

struct import_facts {
    uint64_t documents;
    uint64_t tokens;  /* ends of documents included */
    uint64_t skipped; /* files passed over: empty, or not regular (links, devices, sockets) */
};

/* Called after each file that became a document; false stops the import (EX_TEMPFAIL). */
typedef bool import_progress(void *context, const char *path, const struct import_facts *so_far);

/*
 * Reads `paths` in their order, directories recursively in order of name, `.gz` files unpacked, and
 * writes PREFIX.bin and PREFIX.idx, replacing an older pair. Both are written beside their place,
 * synced and renamed, the index last: a pair is never half written, and after a failure nothing is
 * left behind. Files of the shard itself are not read, should they lie in a directory that is. The
 * text is never held in memory, only 4 bytes a document. A process that is killed leaves files
 * named PREFIX.*.tmp-PID: let `progress` return false when a signal came.
 *
 * EX_NOINPUT when a path cannot be read or nothing was found, EX_DATAERR for a damaged `.gz` or a
 * file of over 2^31 - 2 bytes, EX_CANTCREAT, EX_IOERR, EX_OSERR. `progress` may be NULL;
 * *ret_facts is untouched on failure. Blocks on I/O.
 */
int import_text(const char *prefix, char *const *paths, size_t path_count,
                import_progress *progress, void *context, struct import_facts *ret_facts,
                struct error *err);

#endif
