#include "corpus/megatron_header.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define HEADER_BYTES 34
#define FAIRSEQ_HEADER_BYTES 26
#define MAGIC_BYTES 9
#define SEQUENCE_BYTES 12 /* i32 length and i64 pointer */
#define INDEX_BYTES 8

static const char magic[MAGIC_BYTES] = "MMIDIDX\0";
static const char old_magic[8] = "TNTIDX\0";

/* The header as it lies, before anything is believed. */
struct raw_header {
    uint64_t version;
    uint8_t code;
    uint64_t sequences, document_indices;
};

static uint64_t load64(const unsigned char *from)
{
    uint64_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

static int check_magic(const unsigned char *bytes, const char *path, struct error *err)
{
    if (memcmp(bytes, magic, MAGIC_BYTES) == 0)
        return 0;
    if (memcmp(bytes, old_magic, sizeof old_magic) == 0)
        return error_set(err, EX_DATAERR,
                         "%s: is the older TNTIDX index of fairseq, expected MMIDIDX: convert it "
                         "with the tools of Megatron-LM",
                         path);
    char found[2 * MAGIC_BYTES + 1];
    for (int i = 0; i < MAGIC_BYTES; i++)
        snprintf(found + 2 * i, 3, "%02x", bytes[i]);
    return error_set(err, EX_DATAERR,
                     "%s: is no Megatron index: begins with bytes %s, expected MMIDIDX and two "
                     "zero bytes",
                     path, found);
}

/* bytes = base + N x per_sequence + D x 8, never computed with counts the file could not hold. */
static bool fills(uint64_t bytes, uint64_t base, uint64_t sequences, uint64_t per_sequence,
                  uint64_t document_indices)
{
    if (bytes < base || sequences > bytes / per_sequence || document_indices > bytes / INDEX_BYTES)
        return false;
    return bytes - base == sequences * per_sequence + document_indices * INDEX_BYTES;
}

static int refuse_size(const struct raw_header *raw, uint64_t bytes, const char *path,
                       struct error *err)
{
    /* The one-byte modes make a sequence 13 bytes long; only the size tells. */
    if (fills(bytes, HEADER_BYTES, raw->sequences, SEQUENCE_BYTES + 1, raw->document_indices))
        return error_set(err, EX_DATAERR,
                         "%s: is a multimodal Megatron index (%" PRIu64 " modes follow the "
                         "document indices), expected one of text only",
                         path, raw->sequences);
    return error_set(err, EX_DATAERR,
                     "%s: has %" PRIu64 " bytes, expected 34 + 12 N + 8 D for its N = %" PRIu64
                     " sequences and D = %" PRIu64 " document indices: cut short, half written or "
                     "damaged; write or copy it again",
                     path, bytes, raw->sequences, raw->document_indices);
}

static int check_layout(const struct raw_header *raw, uint64_t bytes, const char *path,
                        struct error *err)
{
    if (fills(bytes, FAIRSEQ_HEADER_BYTES, raw->sequences, SEQUENCE_BYTES, 0))
        return error_set(err, EX_DATAERR,
                         "%s: is a fairseq index (header of 26 bytes, %" PRIu64 " sequences, "
                         "dtype code %u, no document indices), expected the Megatron layout: "
                         "write it again with Megatron's preprocess_data",
                         path, raw->sequences, raw->code);
    if (bytes < HEADER_BYTES)
        return error_set(err, EX_DATAERR,
                         "%s: has %" PRIu64 " bytes, expected at least the 34 of a Megatron header",
                         path, bytes);
    if (raw->version != 1)
        return error_set(err, EX_DATAERR, "%s: version is %" PRIu64 ", expected 1", path,
                         raw->version);
    if (!fills(bytes, HEADER_BYTES, raw->sequences, SEQUENCE_BYTES, raw->document_indices))
        return refuse_size(raw, bytes, path, err);
    if (raw->document_indices == 0)
        return error_set(err, EX_DATAERR,
                         "%s: has no document indices (D = 0), expected documents + 1 of them",
                         path);
    return 0;
}

static int token_type_of(uint8_t code, const char *path, enum token_type *ret_type,
                         struct error *err)
{
    static const struct {
        const char *name;
        bool is_token;
        enum token_type type;
    } codes[] = {
        [1] = { "u8", true, TOKEN_U8 },
        [2] = { "i8", true, TOKEN_I8 },
        [3] = { "i16", true, TOKEN_I16 },
        [4] = { "i32", true, TOKEN_I32 },
        [5] = { "i64", true, TOKEN_I64 },
        [6] = { "f64", false, TOKEN_U8 },
        [7] = { "f32", false, TOKEN_U8 },
        [8] = { "u16", true, TOKEN_U16 },
        [9] = { "fairseq's u32", false, TOKEN_U8 },
        [10] = { "fairseq's u64", false, TOKEN_U8 },
    };
    bool known = code < sizeof codes / sizeof codes[0] && codes[code].name;
    if (!known || !codes[code].is_token)
        return error_set(err, EX_DATAERR,
                         "%s: dtype code is %u (%s), expected tokens: 1 u8, 2 i8, 3 i16, 4 i32, "
                         "5 i64 or 8 u16",
                         path, code, known ? codes[code].name : "unknown");
    *ret_type = codes[code].type;
    return 0;
}

int megatron_header_read(const struct shard_file *file, const char *path,
                         struct megatron_header *ret_header, struct error *err)
{
    unsigned char bytes[HEADER_BYTES] = { 0 };
    if (file->bytes < MAGIC_BYTES)
        return error_set(err, EX_DATAERR,
                         "%s: has %" PRIu64 " bytes, expected at least the 34 of a Megatron header",
                         path, file->bytes);
    size_t present = file->bytes < HEADER_BYTES ? (size_t)file->bytes : HEADER_BYTES;
    int code = shard_file_read(file, path, 0, bytes, present, err);
    if (code || (code = check_magic(bytes, path, err)))
        return code;
    struct raw_header raw = {
        .version = load64(bytes + 9),
        .code = bytes[17],
        .sequences = load64(bytes + 18),
        .document_indices = load64(bytes + 26),
    };
    enum token_type type = TOKEN_U8;
    if ((code = check_layout(&raw, file->bytes, path, err)) ||
        (code = token_type_of(raw.code, path, &type, err)))
        return code;
    *ret_header = (struct megatron_header){
        .type = type,
        .sequences = raw.sequences,
        .document_indices = raw.document_indices,
        .lengths_at = HEADER_BYTES,
        .pointers_at = HEADER_BYTES + 4 * raw.sequences,
        .documents_at = HEADER_BYTES + SEQUENCE_BYTES * raw.sequences,
    };
    return 0;
}
