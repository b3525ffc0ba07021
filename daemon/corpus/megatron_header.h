/* The head of a Megatron index: which layout a file has, and where its arrays lie (FORMATS.md). */
#ifndef BALLAST_CORPUS_MEGATRON_HEADER_H
#define BALLAST_CORPUS_MEGATRON_HEADER_H

#include <stdint.h>

#include "base/error.h"
#include "corpus/shard_file.h"
#include "corpus/token_type.h"

struct megatron_header {
    enum token_type type;
    uint64_t sequences;        /* N */
    uint64_t document_indices; /* D >= 1: documents + 1 */
    /* Bytes from the start of the file; the arrays fill it exactly and are never aligned. */
    uint64_t lengths_at, pointers_at, documents_at;
};

/*
 * Reads the header of `file` and checks it against the file's size, so that every offset in
 * *ret_header can be trusted. EX_DATAERR names the layout that was recognised instead; EX_IOERR.
 */
int megatron_header_read(const struct shard_file *file, const char *path,
                         struct megatron_header *ret_header, struct error *err);

#endif
