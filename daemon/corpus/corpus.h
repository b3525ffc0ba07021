/*
 * The corpus: every source's token shards, opened and checked, read-only (DESIGN section 5).
 *
 * Indices are memory-mapped; tokens are read with pread. A shard that shrinks or fails under us is
 * an error value and never a signal: an index that does reads as empty documents from then on, and
 * corpus_check and corpus_read say so. Replace shards by rename. A corpus is immutable after
 * corpus_open: every function that takes a const corpus or source may be called from any thread at
 * once.
 */
#ifndef BALLAST_CORPUS_CORPUS_H
#define BALLAST_CORPUS_CORPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"

enum source_format { SOURCE_MEGATRON, SOURCE_LENGTHS };

/* A shard of a source that a ledger drops from some step on. */
struct dropped_shard {
    size_t number;    /* in source.shards */
    const char *name; /* the base name of its path */
};

/* What the configuration says of one source, and a ledger. */
struct source_spec {
    char *name; /* unique in a corpus, at most 63 bytes of [A-Za-z0-9._-] */
    enum source_format format;
    char **paths; /* files or globs, of pairs either member or the bare prefix; matches are sorted
                     by name, one that is named twice counts once */
    unsigned path_count;
    double weight;      /* > 0, relative share of tokens */
    uint32_t epochs;    /* 0 repeats for ever */
    bool leave_out_bad; /* go on without shards that are bad, as long as one is good */
    const struct dropped_shard *dropped; /* whose tokens may be bad if the index is good */
    size_t dropped_count;
};

/* The integer that stands for a weight wherever sources are blended. */
uint64_t source_integer_weight(double weight);

struct shard; /* one token shard; defined by corpus/shard.h, for the formats only */

/* A shard that was bad when it was opened. */
struct shard_fault {
    char *path, *reason;
};

/* One open source. Fields are read-only facts. */
struct source {
    char *name;
    enum source_format format;
    uint64_t weight;      /* integer, proportional to the configured weight (weight x 2^20) */
    uint32_t epochs;      /* 0 repeats for ever */
    struct shard *shards; /* in order of name */
    size_t shard_count;
    struct shard_fault *left_out; /* in order of name; they count nowhere, and have no documents */
    size_t left_out_count;
    struct shard_fault *unread; /* those of `shards` that are dropped and whose tokens are bad */
    size_t unread_count;
    uint64_t documents; /* as the indices count them, empty ones included */
    uint64_t empty_documents;
    uint64_t tokens;
    uint64_t *first_document; /* shard_count + 1 running totals */
};

struct corpus {
    struct source *sources;
    size_t source_count;
    uint64_t documents, tokens;
    uint32_t vocab_size;  /* 0: ids are not checked against a vocabulary */
    bool has_tokens;      /* false when any source is `lengths`: it can be planned, not served */
    unsigned token_bytes; /* width in which corpus_read delivers: 2 when vocab_size is in
                             1..65536, else 4 */
    struct digest fingerprint; /* of names, base names of shards (also of those that are left out),
                                  sizes and index contents */
};

/* Called between shards while a corpus opens; `done` of `total` index bytes are checked. */
typedef void corpus_progress(void *context, const char *path, uint64_t done, uint64_t total);

/*
 * Opens and checks every shard of every source. On success *ret_corpus is the caller's until
 * corpus_close. On failure it is untouched and `err` names shard, field, found and expected:
 * EX_DATAERR for a bad shard, EX_NOINPUT for a path that matches nothing or cannot be opened,
 * EX_CONFIG for a bad spec, EX_OSERR for memory or descriptors. Source names are copied.
 * With leave_out_bad the first two are no failure, but for paths that match nothing. A dropped
 * shard whose tokens alone are bad is there by its index: it counts in documents, tokens and
 * fingerprint as if it were good, and reading it fails. `progress` may be NULL. Blocks on I/O.
 */
int corpus_open(const struct source_spec *specs, size_t count, uint32_t vocab_size,
                corpus_progress *progress, void *context, struct corpus **ret_corpus,
                struct error *err);

/* Closes everything; NULL is accepted. No call on the corpus may be under way. */
void corpus_close(struct corpus *corpus);

/*
 * Do all indices still say what they said when they were opened? EX_IOERR names the shard that does
 * not: what was looked up since the last check may be wrong. No I/O; any thread.
 */
int corpus_check(const struct corpus *corpus, struct error *err);

/* Of a status of these functions: is it the shard that is at fault, and not this machine? */
bool shard_is_bad(int code);

/* The number of the source of that name; source_count when there is none. */
size_t corpus_find_source(const struct corpus *corpus, const char *name);

/* The shard of a document (< source->documents): its number in source->shards. */
size_t source_shard_number(const struct source *source, uint64_t document);

/* The base name of a shard's file, and its tokens; `number` < source->shard_count. */
const char *source_shard_name(const struct source *source, size_t number);
uint64_t source_shard_tokens(const struct source *source, size_t number);

/* Tokens of a document, 0 for an empty one. `document` < source->documents. No I/O but page-ins. */
uint64_t source_document_tokens(const struct source *source, uint64_t document);

/*
 * Copies tokens [offset, offset + count) of a document into `tokens`, `corpus->token_bytes` each,
 * little-endian, whatever the shard's own type is. Every id is checked against the vocabulary.
 * Fails with EX_DATAERR (shard, token offset in the shard, id found, vocabulary), EX_IOERR (shard,
 * byte offset, what the system said or that the file has shrunk; what was bad about one of
 * source.unread), EX_UNAVAILABLE for a source without tokens, EX_SOFTWARE for a range outside the
 * document; `tokens` then holds anything. Blocks on I/O; any thread.
 */
int corpus_read(const struct corpus *corpus, size_t source, uint64_t document, uint64_t offset,
                uint32_t count, void *tokens, struct error *err);

/* What corpus.fingerprint says of one source alone: name, format, shards, contents of indices. */
struct digest source_fingerprint(const struct source *source);

/* What `ballastctl verify` reports of one file. */
struct shard_facts {
    uint64_t documents; /* as the index counts them, empty ones included */
    uint64_t empty_documents;
    uint64_t tokens;
};

/*
 * Checks one shard whole: index, sizes, and every token (sign, and vocabulary unless `vocab_size`
 * is 0). The format is recognised from the file: `.idx` or `.bin` names a Megatron pair, anything
 * else is read as `lengths`. Errors as corpus_open; facts are untouched on failure.
 */
int shard_verify(const char *path, uint32_t vocab_size, struct shard_facts *ret_facts,
                 struct error *err);

#endif
