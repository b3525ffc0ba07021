/* The file that holds a shard's tokens: one array of one type. */
#ifndef BALLAST_CORPUS_TOKEN_FILE_H
#define BALLAST_CORPUS_TOKEN_FILE_H

#include <stdint.h>

#include "base/error.h"
#include "corpus/shard_file.h"
#include "corpus/token_type.h"

struct token_file {
    struct shard_file file; /* fd -1: the shard has no tokens */
    char *path;             /* owned */
    enum token_type type;
    uint64_t start; /* byte of the first token */
    char *fault;    /* owned; why no token can be read, NULL when they can be */
};

void token_file_close(struct token_file *tokens);

/*
 * Delivers `count` tokens from byte `offset` of the file, `out_bytes` (2 or 4) each, ids checked
 * against `vocab_size` (0: only that they are not negative and fit 32 bits). Errors as
 * corpus_read; on failure the contents of `out` are indeterminate. Any thread.
 */
int token_file_read(const struct token_file *tokens, uint64_t offset, uint32_t count,
                    unsigned out_bytes, uint32_t vocab_size, void *out, struct error *err);

/* Reads and checks every token. Errors as token_file_read, or EX_OSERR. */
int token_file_check(const struct token_file *tokens, uint32_t vocab_size, struct error *err);

#endif
