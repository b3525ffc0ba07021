#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/grow.h"

/* Keeps room for the zero byte behind. */
static ssize_t take(void *context, const char *bytes, size_t count)
{
    struct text *text = context;
    if (text->failed || !grow(text->bytes, &text->capacity, text->count + count + 1)) {
        text->failed = true;
        return 0;
    }
    memcpy(text->bytes + text->count, bytes, count);
    text->count += count;
    return (ssize_t)count;
}

int text_open(struct text *text, const char *what, struct error *err)
{
    memset(text, 0, sizeof *text);
    take(text, "", 0);
    if (!text->failed)
        text->file = fopencookie(text, "w", (cookie_io_functions_t){ .write = take });
    if (!text->file) {
        free(text->bytes);
        return error_memory(err, what);
    }
    setvbuf(text->file, text->buffer, _IOFBF, sizeof text->buffer);
    return 0;
}

int text_close(struct text *text, const char *what, char **ret_text, size_t *ret_bytes,
               struct error *err)
{
    bool failed = ferror(text->file) != 0;
    failed |= fclose(text->file) != 0;
    if (failed || text->failed) {
        free(text->bytes);
        return error_memory(err, what);
    }
    text->bytes[text->count] = '\0';
    *ret_text = text->bytes;
    if (ret_bytes)
        *ret_bytes = text->count;
    return 0;
}

void text_drop(struct text *text)
{
    fclose(text->file);
    free(text->bytes);
}
