/* Opening a corpus of one source, for tests. */
#ifndef BALLAST_TESTS_ONE_SOURCE_H
#define BALLAST_TESTS_ONE_SOURCE_H

#include "corpus/corpus.h"
#include "support/temp_dir.h"

/* corpus_open of one source "s" of weight 1 whose only path is DIR/pattern. */
int open_one(enum source_format format, const struct temp_dir *dir, const char *pattern,
             uint32_t vocab_size, struct corpus **ret_corpus, struct error *err);

/* The same, and it must succeed. */
struct corpus *must_open(enum source_format format, const struct temp_dir *dir, const char *pattern,
                         uint32_t vocab_size);

/* The same, and it must fail with `code` and say every one of the NULL-terminated fragments. */
void must_refuse(enum source_format format, const struct temp_dir *dir, const char *pattern,
                 int code, const char *const *fragments);

/* `text` holds every one of the NULL-terminated fragments. */
void must_say(const char *text, const char *const *fragments);

#define SAYS(...) ((const char *const[]){ __VA_ARGS__, NULL })

#endif
