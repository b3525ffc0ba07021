#include "corpus/token_file.h"

#include <inttypes.h>
#include <stdlib.h>

#define CONVERT_BYTES 32768 /* on the stack, for tokens whose width changes */
#define CHECK_BYTES ((size_t)1 << 20)

void token_file_close(struct token_file *tokens)
{
    shard_file_close(&tokens->file);
    free(tokens->path);
    free(tokens->fault);
    tokens->path = tokens->fault = NULL;
}

static int refuse_all(const struct token_file *tokens, struct error *err)
{
    return error_set(err, EX_IOERR,
                     "%s; so it was when it was opened, and is not read: mend it and start again",
                     tokens->fault);
}

/* The error for `bad`, which lies at byte `offset`. */
static int refuse_token(const struct token_file *tokens, uint64_t offset, const void *bad,
                        uint32_t vocab_size, struct error *err)
{
    uint64_t at = (offset - tokens->start) / token_type_bytes(tokens->type);
    int64_t id = token_value(tokens->type, bad);
    if (id < 0 || vocab_size == 0)
        return error_set(err, EX_DATAERR,
                         "%s: token %" PRIu64 " is %" PRId64 ", expected an id of 0 to %" PRIu64
                         " (%s): damaged, or written with another dtype",
                         tokens->path, at, id, token_limit(tokens->type, 0) - 1,
                         token_type_name(tokens->type));
    return error_set(err, EX_DATAERR,
                     "%s: token %" PRIu64 " is %" PRId64
                     ", expected an id below vocab_size %" PRIu32
                     ": set vocab_size to that of the tokenizer that wrote the shard",
                     tokens->path, at, id, vocab_size);
}

static int check_ids(const struct token_file *tokens, uint64_t offset, const void *ids,
                     size_t count, uint32_t vocab_size, struct error *err)
{
    uint64_t limit = token_limit(tokens->type, vocab_size);
    size_t bad = tokens_find_bad(tokens->type, ids, count, limit);
    if (bad == count)
        return 0;
    size_t skip = bad * token_type_bytes(tokens->type);
    return refuse_token(tokens, offset + skip, (const unsigned char *)ids + skip, vocab_size, err);
}

/* Reads and checks `count` tokens as they are stored. */
static int read_stored(const struct token_file *tokens, uint64_t offset, size_t count,
                       uint32_t vocab_size, void *buffer, struct error *err)
{
    size_t bytes = count * token_type_bytes(tokens->type);
    int code = shard_file_read(&tokens->file, tokens->path, offset, buffer, bytes, err);
    if (code)
        return code;
    return check_ids(tokens, offset, buffer, count, vocab_size, err);
}

int token_file_read(const struct token_file *tokens, uint64_t offset, uint32_t count,
                    unsigned out_bytes, uint32_t vocab_size, void *out, struct error *err)
{
    if (tokens->fault)
        return refuse_all(tokens, err);
    unsigned stored_bytes = token_type_bytes(tokens->type);
    if (stored_bytes == out_bytes)
        return read_stored(tokens, offset, count, vocab_size, out, err);

    unsigned char buffer[CONVERT_BYTES];
    unsigned char *to = out;
    uint32_t room = CONVERT_BYTES / stored_bytes;
    for (uint32_t done = 0, part; done < count; done += part) {
        part = count - done < room ? count - done : room;
        int code = read_stored(tokens, offset + (uint64_t)done * stored_bytes, part, vocab_size,
                               buffer, err);
        if (code)
            return code;
        tokens_convert(tokens->type, buffer, part, out_bytes, to + (size_t)done * out_bytes);
    }
    return 0;
}

int token_file_check(const struct token_file *tokens, uint32_t vocab_size, struct error *err)
{
    void *buffer = malloc(CHECK_BYTES);
    if (!buffer)
        return error_memory(err, "checking tokens");
    unsigned stored_bytes = token_type_bytes(tokens->type);
    int code = 0;
    for (uint64_t at = tokens->start; at < tokens->file.bytes && !code; at += CHECK_BYTES) {
        uint64_t left = tokens->file.bytes - at;
        size_t bytes = left < CHECK_BYTES ? (size_t)left : CHECK_BYTES;
        code = read_stored(tokens, at, bytes / stored_bytes, vocab_size, buffer, err);
    }
    free(buffer);
    return code;
}
