#include "ctl/import_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/again.h"
#include "ctl/import.h"

#define BLOCK_BYTES 16384
#define MOST_BYTES ((uint32_t)INT32_MAX - 1) /* of text: a length is an i32, and holds the end */

/* A file being read; `gz` is NULL when it is plain. */
struct text {
    const char *path;
    int fd;
    gzFile gz;
};

static bool is_gzip_name(const char *path)
{
    size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".gz") == 0;
}

static int text_open(struct text *text, const char *path, struct error *err)
{
    int fd = open_again(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return error_set(err, EX_NOINPUT, "%s: cannot be opened: %s", path, strerror(errno));
    *text = (struct text){ .path = path, .fd = fd };
    if (!is_gzip_name(path))
        return 0;
    text->gz = gzdopen(fd, "rb");
    if (text->gz)
        return 0;
    close(fd);
    return error_memory(err, "opening a gzip file");
}

static int refuse_gzip(const char *path, const char *why, struct error *err)
{
    return error_set(err, EX_DATAERR, "%s: gzip data cannot be read: %s; leave it out or mend it",
                     path, why);
}

/* A cut gzip file reads well up to its end: only closing tells. */
static int text_close(struct text *text, struct error *err)
{
    if (!text->gz) {
        close(text->fd);
        return 0;
    }
    return gzclose_r(text->gz) == Z_OK ? 0 : refuse_gzip(text->path, "it is cut short", err);
}

/* Up to BLOCK_BYTES into `block`; *ret_count 0 is the end. */
static int text_read(struct text *text, unsigned char *block, size_t *ret_count, struct error *err)
{
    ssize_t got;
    if (text->gz) {
        got = gzread(text->gz, block, BLOCK_BYTES);
        int status;
        if (got < 0)
            return refuse_gzip(text->path, gzerror(text->gz, &status), err);
    } else {
        do
            got = read(text->fd, block, BLOCK_BYTES);
        while (got < 0 && errno == EINTR);
        if (got < 0)
            return error_set(err, EX_NOINPUT, "%s: cannot be read: %s", text->path,
                             strerror(errno));
    }
    *ret_count = (size_t)got;
    return 0;
}

static int write_tokens(const unsigned char *block, size_t count, struct import_file *data,
                        struct error *err)
{
    uint16_t tokens[BLOCK_BYTES];
    for (size_t i = 0; i < count; i++)
        tokens[i] = block[i];
    return import_file_write(data, tokens, count * sizeof *tokens, err);
}

static int copy_text(struct text *text, struct import_file *data, uint32_t *ret_bytes,
                     struct error *err)
{
    unsigned char block[BLOCK_BYTES];
    uint32_t bytes = 0;
    for (;;) {
        size_t count = 0;
        int code = text_read(text, block, &count, err);
        if (code)
            return code;
        if (count == 0)
            break;
        if (count > MOST_BYTES - bytes)
            return error_set(err, EX_DATAERR,
                             "%s: holds over %u bytes of text, the most that one document of a "
                             "Megatron shard can have: split the file",
                             text->path, MOST_BYTES);
        bytes += (uint32_t)count;
        code = write_tokens(block, count, data, err);
        if (code)
            return code;
    }
    *ret_bytes = bytes;
    return 0;
}

int import_append(const char *path, struct import_file *data, uint32_t *ret_tokens,
                  struct error *err)
{
    struct text text;
    int code = text_open(&text, path, err);
    if (code)
        return code;
    uint32_t bytes = 0;
    code = copy_text(&text, data, &bytes, err);
    int closed = text_close(&text, code ? NULL : err);
    if (code || closed)
        return code ? code : closed;
    if (bytes == 0) {
        *ret_tokens = 0;
        return 0;
    }
    *ret_tokens = bytes + 1;
    const uint16_t end = IMPORT_END_OF_DOCUMENT;
    return import_file_write(data, &end, sizeof end, err);
}
