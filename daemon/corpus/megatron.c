/*
 * Megatron `.bin` + `.idx` (FORMATS.md). The index is mapped and checked once, front to back; after
 * that a document is looked up in it, so nothing per document is held in memory.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/mapping.h"
#include "corpus/megatron_header.h"
#include "corpus/shard.h"

#define CHECK_BLOCK ((uint64_t)65536) /* entries checked between two releases of pages */

struct megatron_index {
    struct mapping map;
    const unsigned char *lengths, *pointers, *documents; /* into `map`, unaligned */
    uint64_t sequences;                                  /* N */
    uint64_t data_bytes;                                 /* of the `.bin`, by the lengths */
    unsigned token_shift;                                /* log2 of bytes per token */
};

static int64_t load_i64(const unsigned char *from)
{
    int64_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

static int32_t load_i32(const unsigned char *from)
{
    int32_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

/* First byte of a sequence; N and beyond is the end of the data. */
static uint64_t sequence_begin(const struct megatron_index *index, uint64_t sequence)
{
    if (sequence >= index->sequences)
        return index->data_bytes;
    return (uint64_t)load_i64(index->pointers + 8 * sequence);
}

/*
 * Pointers are the running sum of lengths, so two of them bound a document of any number of
 * sequences. An index that is overwritten while it is mapped gives an empty document at worst, and
 * is broken once that shows.
 */
static struct extent megatron_document(const void *state, uint64_t document)
{
    const struct megatron_index *index = state;
    const unsigned char *entry = index->documents + 8 * document;
    uint64_t first = (uint64_t)load_i64(entry), next = (uint64_t)load_i64(entry + 8);
    uint64_t begin = sequence_begin(index, first), end = sequence_begin(index, next);
    if (first > next || next > index->sequences || end < begin || end > index->data_bytes) {
        mapping_guard_break(index->map.guard);
        return (struct extent){ .offset = 0, .tokens = 0 };
    }
    return (struct extent){ .offset = begin, .tokens = (end - begin) >> index->token_shift };
}

static void release_entries(const struct megatron_index *index, const unsigned char *array,
                            uint64_t from, uint64_t to, size_t bytes)
{
    size_t at = (size_t)(array - index->map.bytes);
    mapping_release(&index->map, at + (size_t)from * bytes, at + (size_t)to * bytes);
}

/* One block of sequences: lengths >= 0, pointers the running sum, which goes on in *sum. */
static int check_block(const struct megatron_index *index, const char *path, uint64_t from,
                       uint64_t to, int64_t *sum, struct error *err)
{
    for (uint64_t i = from; i < to; i++) {
        int32_t length = load_i32(index->lengths + 4 * i);
        int64_t pointer = load_i64(index->pointers + 8 * i);
        if (length < 0)
            return error_set(err, EX_DATAERR,
                             "%s: length of sequence %" PRIu64 " is %" PRId32 ", expected >= 0",
                             path, i, length);
        if (pointer != *sum)
            return error_set(err, EX_DATAERR,
                             "%s: pointer of sequence %" PRIu64 " is %" PRId64 ", expected %" PRId64
                             " (the running sum of lengths x %u bytes): the "
                             "index is damaged or was merged wrongly; write it again",
                             path, i, pointer, *sum, 1u << index->token_shift);
        if (__builtin_add_overflow(*sum, (int64_t)length << index->token_shift, sum))
            return error_set(err, EX_DATAERR,
                             "%s: lengths up to sequence %" PRIu64 " add up to over 2^63 bytes",
                             path, i);
    }
    release_entries(index, index->lengths, from, to, 4);
    release_entries(index, index->pointers, from, to, 8);
    return 0;
}

/* Checks all sequences, and adds up what the data must have. */
static int check_sequences(struct megatron_index *index, const char *path, struct error *err)
{
    int64_t sum = 0;
    for (uint64_t from = 0; from < index->sequences; from += CHECK_BLOCK) {
        uint64_t left = index->sequences - from;
        uint64_t to = from + (left < CHECK_BLOCK ? left : CHECK_BLOCK);
        int code = check_block(index, path, from, to, &sum, err);
        if (code)
            return code;
    }
    index->data_bytes = (uint64_t)sum;
    return 0;
}

/* Document indices from + 1 to `to`; *before is the one before them, then the last of them. */
static int check_documents_block(const struct megatron_index *index, const char *path,
                                 uint64_t from, uint64_t to, int64_t *before, uint64_t *empty,
                                 struct error *err)
{
    uint64_t first_sequence = (uint64_t)*before;
    for (uint64_t i = from; i < to; i++) {
        int64_t next = load_i64(index->documents + 8 * (i + 1));
        if (next < *before || (uint64_t)next > index->sequences)
            return error_set(err, EX_DATAERR,
                             "%s: document index %" PRIu64 " is %" PRId64 ", expected %" PRId64
                             " (the one before) to N = %" PRIu64,
                             path, i + 1, next, *before, index->sequences);
        *before = next;
        *empty += megatron_document(index, i).tokens == 0;
    }
    release_entries(index, index->documents, from, to, 8);
    release_entries(index, index->pointers, first_sequence, (uint64_t)*before, 8);
    return 0;
}

/* document_indices: first 0, never falling, last N. Counts empty documents. */
static int check_documents(const struct megatron_index *index, const char *path, uint64_t documents,
                           uint64_t *ret_empty, struct error *err)
{
    int64_t last = load_i64(index->documents);
    if (last != 0)
        return error_set(err, EX_DATAERR, "%s: document index 0 is %" PRId64 ", expected 0", path,
                         last);
    uint64_t empty = 0;
    for (uint64_t from = 0; from < documents; from += CHECK_BLOCK) {
        uint64_t to = from + (documents - from < CHECK_BLOCK ? documents - from : CHECK_BLOCK);
        int code = check_documents_block(index, path, from, to, &last, &empty, err);
        if (code)
            return code;
    }
    if ((uint64_t)last != index->sequences)
        return error_set(err, EX_DATAERR,
                         "%s: the last document index is %" PRId64 ", expected N = %" PRIu64
                         " sequences: documents are missing, as after a wrong merge",
                         path, last, index->sequences);
    *ret_empty = empty;
    return 0;
}

/* PREFIX.idx -> PREFIX.bin; the caller's to free, NULL without memory. */
static char *data_path_of(const char *path)
{
    size_t length = strlen(path);
    char *data_path = strdup(path);
    if (data_path && length >= 4)
        memcpy(data_path + length - 4, ".bin", 4);
    return data_path;
}

/* Bad tokens make a bad shard; one that is dropped goes on by its index alone. */
static int refuse_data(struct shard *shard, const struct error *why, struct error *err)
{
    if (!shard->dropped || !shard_is_bad(why->code))
        return error_set(err, why->code, "%s", why->text);
    shard_file_close(&shard->stored.file);
    shard->stored.fault = strdup(why->text);
    return shard->stored.fault ? 0 : error_memory(err, "opening a shard");
}

static int open_data(struct shard *shard, enum token_type type, struct error *err)
{
    struct error why = { 0 };
    shard->stored.type = type;
    shard->stored.path = data_path_of(shard->path);
    if (!shard->stored.path)
        return error_memory(err, "opening a shard");
    if (shard_file_open(shard->stored.path, &shard->stored.file, &why) == 0)
        return 0;
    error_prefix(&why, "%s: its pair", shard->path);
    return refuse_data(shard, &why, err);
}

/* Nothing but this size is known of the data, so that the fingerprint can do without them. */
static int check_data(struct shard *shard, struct error *err)
{
    const struct megatron_index *index = shard->index;
    uint64_t bytes = shard->stored.file.bytes;
    if (shard->stored.fault || bytes == index->data_bytes)
        return 0;
    struct error why = { 0 };
    error_set(&why, EX_DATAERR,
              "%s: has %" PRIu64 " bytes, expected %" PRIu64
              " as %s says: one of the pair is cut short or from another run",
              shard->stored.path, bytes, index->data_bytes, shard->path);
    return refuse_data(shard, &why, err);
}

/* Maps the index and makes it the shard's, to be freed by megatron_close. */
static int open_index(struct shard *shard, const struct shard_file *file,
                      const struct megatron_header *header, struct error *err)
{
    struct megatron_index *index = calloc(1, sizeof *index);
    if (!index)
        return error_memory(err, "opening a shard");
    shard->index = index;
    int code = mapping_open(file, shard->path, &index->map, err);
    if (code)
        return code;
    index->lengths = index->map.bytes + header->lengths_at;
    index->pointers = index->map.bytes + header->pointers_at;
    index->documents = index->map.bytes + header->documents_at;
    index->sequences = header->sequences;
    while (1u << index->token_shift < token_type_bytes(header->type))
        index->token_shift++;
    return 0;
}

static int check_index(struct shard *shard, struct error *err)
{
    struct megatron_index *index = shard->index;
    int code = check_sequences(index, shard->path, err);
    if (!code)
        code = check_data(shard, err);
    if (code)
        return code;
    code = check_documents(index, shard->path, shard->documents, &shard->empty_documents, err);
    if (code)
        return code;
    shard->tokens = index->data_bytes >> index->token_shift;
    uint64_t sizes[] = { index->map.size, index->data_bytes };
    struct digest digest = digest_chain((struct digest){ 0 }, sizes, sizeof sizes);
    shard->digest = mapping_digest(&index->map, digest);
    mapping_settle(&index->map);
    return 0;
}

static bool megatron_intact(const void *state)
{
    const struct megatron_index *index = state;
    return mapping_intact(&index->map);
}

static int megatron_open(struct shard *shard, struct error *err)
{
    struct shard_file file;
    int code = shard_file_open(shard->path, &file, err);
    if (code)
        return code;
    struct megatron_header header;
    code = megatron_header_read(&file, shard->path, &header, err);
    if (!code)
        code = open_data(shard, header.type, err);
    if (!code)
        code = open_index(shard, &file, &header, err);
    shard_file_close(&file);
    if (code)
        return code;
    shard->documents = header.document_indices - 1;
    code = check_index(shard, err);
    return megatron_intact(shard->index) ? code : shard_refuse_change(shard, err);
}

static void megatron_close(void *state)
{
    struct megatron_index *index = state;
    if (!index)
        return;
    mapping_close(&index->map);
    free(index);
}

const struct shard_format megatron_format = {
    .name = "megatron",
    .open = megatron_open,
    .close = megatron_close,
    .document = megatron_document,
    .intact = megatron_intact,
    .has_tokens = true,
    .has_pair = true,
};
