/* `lengths`: a text file, one document length in tokens a line; no tokens (FORMATS.md). */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "corpus/mapping.h"
#include "corpus/shard.h"

#define LONGEST_DOCUMENT INT32_MAX
#define QUOTED_BYTES 24 /* of a bad line, in its error */

struct lengths_index {
    uint32_t *tokens; /* of each document */
    size_t count, capacity;
};

/* Reads byte by byte, so that no line is too long. */
struct parser {
    const char *path;
    struct lengths_index *index;
    uint64_t line; /* 1-based */
    uint64_t value;
    char quoted[QUOTED_BYTES + 1];
    size_t quoted_bytes;
    enum { LINE_BLANK, LINE_DIGITS, LINE_DONE, LINE_BAD } state;
    bool in_comment;
};

static int end_line(struct parser *parser, struct error *err)
{
    if (parser->state == LINE_BAD)
        return error_set(err, EX_DATAERR,
                         "%s: line %" PRIu64 " is '%s', expected one document length of 0 to %d "
                         "tokens, or a # comment",
                         parser->path, parser->line, parser->quoted, LONGEST_DOCUMENT);
    if (parser->state != LINE_BLANK) {
        struct lengths_index *index = parser->index;
        if (!grow(index->tokens, &index->capacity, index->count + 1))
            return error_memory(err, "reading document lengths");
        index->tokens[index->count++] = (uint32_t)parser->value;
    }
    *parser =
        (struct parser){ .path = parser->path, .index = parser->index, .line = parser->line + 1 };
    return 0;
}

static void take_digit(struct parser *parser, char byte)
{
    parser->value = parser->value * 10 + (uint64_t)(byte - '0');
    bool good = parser->state <= LINE_DIGITS && parser->value <= LONGEST_DOCUMENT;
    parser->state = good ? LINE_DIGITS : LINE_BAD;
}

static void take_byte(struct parser *parser, char byte)
{
    if (parser->in_comment)
        return;
    if (parser->quoted_bytes < QUOTED_BYTES && byte != '\r')
        parser->quoted[parser->quoted_bytes++] = isprint((unsigned char)byte) ? byte : '?';
    if (parser->state == LINE_BAD)
        return;
    if (byte == '#')
        parser->in_comment = true;
    else if (byte >= '0' && byte <= '9')
        take_digit(parser, byte);
    else if (byte != ' ' && byte != '\t' && byte != '\r')
        parser->state = LINE_BAD;
    else if (parser->state == LINE_DIGITS)
        parser->state = LINE_DONE;
}

static int parse_block(struct parser *parser, const char *bytes, size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != '\n') {
            take_byte(parser, bytes[i]);
            continue;
        }
        int code = end_line(parser, err);
        if (code)
            return code;
    }
    return 0;
}

static int parse_file(struct shard *shard, const struct shard_file *file, char *block,
                      struct error *err)
{
    struct parser parser = { .path = shard->path, .index = shard->index, .line = 1 };
    struct digest digest = digest_chain((struct digest){ 0 }, &file->bytes, sizeof file->bytes);
    for (uint64_t at = 0; at < file->bytes; at += CONTENT_BLOCK_BYTES) {
        uint64_t left = file->bytes - at;
        size_t count = left < CONTENT_BLOCK_BYTES ? (size_t)left : CONTENT_BLOCK_BYTES;
        int code = shard_file_read(file, shard->path, at, block, count, err);
        if (code || (code = parse_block(&parser, block, count, err)))
            return code;
        digest = digest_chain(digest, block, count);
    }
    shard->digest = digest;
    return end_line(&parser, err); /* the last line may lack its newline */
}

static int parse_opened(struct shard *shard, const struct shard_file *file, struct error *err)
{
    shard->index = calloc(1, sizeof(struct lengths_index));
    char *block = malloc(CONTENT_BLOCK_BYTES);
    int code = shard->index && block ? parse_file(shard, file, block, err)
                                     : error_memory(err, "reading document lengths");
    free(block);
    return code;
}

static int lengths_open(struct shard *shard, struct error *err)
{
    struct shard_file file;
    int code = shard_file_open(shard->path, &file, err);
    if (code)
        return code;
    code = parse_opened(shard, &file, err);
    shard_file_close(&file);
    if (code)
        return code;
    const struct lengths_index *index = shard->index;
    shard->documents = index->count;
    for (size_t i = 0; i < index->count; i++) {
        shard->tokens += index->tokens[i];
        shard->empty_documents += index->tokens[i] == 0;
    }
    return 0;
}

static void lengths_close(void *state)
{
    struct lengths_index *index = state;
    if (!index)
        return;
    free(index->tokens);
    free(index);
}

static struct extent lengths_document(const void *state, uint64_t document)
{
    const struct lengths_index *index = state;
    return (struct extent){ .offset = 0, .tokens = index->tokens[document] };
}

const struct shard_format lengths_format = {
    .name = "lengths",
    .open = lengths_open,
    .close = lengths_close,
    .document = lengths_document,
};
