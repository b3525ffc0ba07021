/*
 * Writes Megatron pairs (FORMATS.md) with every field under the test's control, so that broken and
 * hostile ones can be made as easily as good ones.
 */
#ifndef BALLAST_TESTS_SHARDS_H
#define BALLAST_TESTS_SHARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* dtype codes of the index */
enum {
    MEGATRON_U8 = 1,
    MEGATRON_I8,
    MEGATRON_I16,
    MEGATRON_I32,
    MEGATRON_I64,
    MEGATRON_F64,
    MEGATRON_F32,
    MEGATRON_U16
};

/*
 * A pair in memory. megatron_pair_new makes a good one; change any field, then write it. The
 * header's counts are apart from the arrays' so that they can lie.
 */
struct megatron_pair {
    unsigned char magic[9];
    uint64_t version;
    uint8_t dtype;
    uint64_t n, d;       /* as the header says */
    bool fairseq_header; /* 26 bytes: no D, and no document indices */
    int32_t *lengths;    /* sequence_count of each */
    int64_t *pointers;
    size_t sequence_count;
    int64_t *document_indices;
    size_t document_index_count;
    size_t mode_count;      /* zero bytes after the document indices */
    unsigned char *tokens;  /* `.bin` */
    size_t token_bytes;     /* all of `.bin` */
    bool without_data_file; /* write the index alone */
};

/*
 * A pair of `count` sequences, each a document of its own; token i of the shard has the id i % 251.
 * The caller's until megatron_pair_free.
 */
struct megatron_pair *megatron_pair_new(uint8_t dtype, const int32_t *lengths, size_t count);
void megatron_pair_free(struct megatron_pair *pair);

/* Replaces the document indices, and D with them. */
void megatron_pair_set_documents(struct megatron_pair *pair, const int64_t *indices, size_t count);

/* Overwrites one token; the id is cut to the dtype's width. */
void megatron_pair_set_token(struct megatron_pair *pair, size_t index, int64_t id);

/* The bytes of the `.idx`; the caller's to free. */
unsigned char *megatron_pair_index(const struct megatron_pair *pair, size_t *ret_count);

/* Writes PREFIX.idx and PREFIX.bin. */
void megatron_pair_write(const struct megatron_pair *pair, const char *prefix);

/* A good pair, written and forgotten. */
void write_megatron(const char *prefix, uint8_t dtype, const int32_t *lengths, size_t count);

#endif
