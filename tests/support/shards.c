#include "support/shards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/temp_dir.h"

#define FIRST_IDS 251

static void *room(size_t bytes)
{
    void *made = calloc(bytes ? bytes : 1, 1);
    if (!made) {
        fputs("test support: out of memory\n", stderr);
        abort();
    }
    return made;
}

static size_t width(uint8_t dtype)
{
    switch (dtype) {
    case MEGATRON_U8:
    case MEGATRON_I8:
        return 1;
    case MEGATRON_I16:
    case MEGATRON_U16:
        return 2;
    case MEGATRON_I32:
    case MEGATRON_F32:
        return 4;
    default:
        return 8;
    }
}

static void fill_sequences(struct megatron_pair *pair, const int32_t *lengths, size_t count)
{
    pair->n = pair->sequence_count = count;
    pair->lengths = room(count * sizeof *pair->lengths);
    pair->pointers = room(count * sizeof *pair->pointers);
    for (size_t i = 0; i < count; i++) {
        pair->lengths[i] = lengths[i];
        pair->pointers[i] = (int64_t)pair->token_bytes;
        pair->token_bytes += (size_t)lengths[i] * width(pair->dtype);
    }
}

struct megatron_pair *megatron_pair_new(uint8_t dtype, const int32_t *lengths, size_t count)
{
    struct megatron_pair *pair = room(sizeof *pair);
    memcpy(pair->magic, "MMIDIDX\0", sizeof pair->magic);
    pair->version = 1;
    pair->dtype = dtype;
    fill_sequences(pair, lengths, count);
    int64_t *each = room((count + 1) * sizeof *each);
    for (size_t i = 0; i <= count; i++)
        each[i] = (int64_t)i;
    megatron_pair_set_documents(pair, each, count + 1);
    free(each);
    pair->tokens = room(pair->token_bytes);
    for (size_t i = 0; i < pair->token_bytes / width(dtype); i++)
        megatron_pair_set_token(pair, i, (int64_t)(i % FIRST_IDS));
    return pair;
}

void megatron_pair_free(struct megatron_pair *pair)
{
    if (!pair)
        return;
    free(pair->lengths);
    free(pair->pointers);
    free(pair->document_indices);
    free(pair->tokens);
    free(pair);
}

void megatron_pair_set_documents(struct megatron_pair *pair, const int64_t *indices, size_t count)
{
    free(pair->document_indices);
    pair->document_indices = room(count * sizeof *indices);
    if (count > 0)
        memcpy(pair->document_indices, indices, count * sizeof *indices);
    pair->d = pair->document_index_count = count;
}

void megatron_pair_set_token(struct megatron_pair *pair, size_t index, int64_t id)
{
    size_t bytes = width(pair->dtype);
    memcpy(pair->tokens + index * bytes, &id, bytes);
}

static unsigned char *put(unsigned char *to, const void *from, size_t bytes)
{
    if (bytes > 0)
        memcpy(to, from, bytes);
    return to + bytes;
}

unsigned char *megatron_pair_index(const struct megatron_pair *pair, size_t *ret_count)
{
    size_t documents = pair->fairseq_header ? 0 : pair->document_index_count;
    size_t most = 34 + 12 * pair->sequence_count + 8 * documents + pair->mode_count;
    unsigned char *bytes = room(most), *to = bytes;
    to = put(to, pair->magic, sizeof pair->magic);
    to = put(to, &pair->version, 8);
    to = put(to, &pair->dtype, 1);
    to = put(to, &pair->n, 8);
    if (!pair->fairseq_header)
        to = put(to, &pair->d, 8);
    to = put(to, pair->lengths, 4 * pair->sequence_count);
    to = put(to, pair->pointers, 8 * pair->sequence_count);
    to = put(to, pair->document_indices, 8 * documents);
    *ret_count = (size_t)(to - bytes) + pair->mode_count; /* modes are zero: text */
    return bytes;
}

void megatron_pair_write(const struct megatron_pair *pair, const char *prefix)
{
    char path[TEMP_PATH_BYTES];
    size_t count;
    unsigned char *index = megatron_pair_index(pair, &count);
    snprintf(path, sizeof path, "%s.idx", prefix);
    file_write(path, index, count);
    free(index);
    if (pair->without_data_file)
        return;
    snprintf(path, sizeof path, "%s.bin", prefix);
    file_write(path, pair->tokens, pair->token_bytes);
}

void write_megatron(const char *prefix, uint8_t dtype, const int32_t *lengths, size_t count)
{
    struct megatron_pair *pair = megatron_pair_new(dtype, lengths, count);
    megatron_pair_write(pair, prefix);
    megatron_pair_free(pair);
}
