/*
 * One token shard, and the small interface behind which a format lives: a format is one table of
 * functions in one file (megatron.c, lengths.c).
 */
#ifndef BALLAST_CORPUS_SHARD_H
#define BALLAST_CORPUS_SHARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "corpus/corpus.h"
#include "corpus/token_file.h"

/* Where a document's tokens lie. */
struct extent {
    uint64_t offset; /* first byte in the token file */
    uint64_t tokens;
};

struct shard {
    const struct shard_format *format;
    char *path; /* owned; of the file that names the shard, the `.idx` of a pair */
    uint64_t documents, empty_documents, tokens;
    bool dropped;             /* its index suffices: bad tokens become a fault of `stored` */
    struct digest digest;     /* of sizes and index contents */
    struct token_file stored; /* its descriptor is -1 when the format has no tokens */
    void *index;              /* the format's own, freed by its close */
};

struct shard_format {
    const char *name; /* as in configuration and fingerprint */
    /*
     * `shard` has format, path and `dropped`, an empty `stored` and no index; fills the rest. On
     * failure the caller still closes what was put into `stored` and `index`.
     */
    int (*open)(struct shard *shard, struct error *err);
    void (*close)(void *index); /* accepts NULL */
    /* Hot and without system calls; `document` < shard->documents. Any thread. */
    struct extent (*document)(const void *index, uint64_t document);
    /* False once the index was found changed; NULL for an index that is held in memory. */
    bool (*intact)(const void *index);
    bool has_tokens;
    bool has_pair; /* a shard is PREFIX.idx with PREFIX.bin */
};

extern const struct shard_format megatron_format, lengths_format;

const struct shard_format *shard_format_of(enum source_format format);

/* The part of a path behind the last slash. */
const char *shard_base_name(const char *path);

/*
 * Opens and checks the shard named by `path`, which is copied. Errors as corpus_open. Of a shard
 * that is `dropped` only a bad index is an error, and its fingerprint is that of the whole shard.
 */
int shard_open(const struct shard_format *format, const char *path, bool dropped,
               struct shard *ret_shard, struct error *err);
void shard_close(struct shard *shard);

/*
 * Does the index still say what it said when it was opened? Ask after what was looked up has been
 * used, or before it leaves: EX_IOERR makes it worthless. No system call; any thread.
 */
int shard_check(const struct shard *shard, struct error *err);

/* The error of shard_check. */
int shard_refuse_change(const struct shard *shard, struct error *err);

#endif
