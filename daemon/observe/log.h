/*
 * The daemon's log: one line a message, as text or as JSON, with fields. Libraries do not log; the
 * programs and the serving threads do.
 *
 * Any thread may write at any time. A line is at most LOG_LINE_BYTES long, so that a pipe takes it
 * whole; a reader that stops reading costs lines, which are counted and reported, but never blocks
 * the writer for long.
 */
#ifndef BALLAST_OBSERVE_LOG_H
#define BALLAST_OBSERVE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define LOG_LINE_BYTES 4096 /* PIPE_BUF of Linux */

/* In falling order of weight. */
enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

struct log_options {
    int fd;               /* written to, never closed */
    bool json;            /* one JSON object a line */
    enum log_level level; /* lighter messages are left out */
};

enum log_field_kind { LOG_FIELD_END, LOG_FIELD_TEXT, LOG_FIELD_UINT, LOG_FIELD_REAL };

struct log_field {
    const char *key;
    enum log_field_kind kind;
    union {
        const char *text; /* NULL shows as an empty text */
        uint64_t uint;
        double real;
    };
};

struct log; /* opaque */

/*
 * When `fd` is the systemd journal (JOURNAL_STREAM names it), lines get a priority in front and no
 * time. *ret_log is the caller's until log_free; EX_OSERR when out of memory.
 */
int log_new(const struct log_options *options, struct log **ret_log, struct error *err);

/* NULL is accepted. No other thread may still be writing. */
void log_free(struct log *log);

/*
 * Writes one line. `fields` ends with log_end(), or is NULL:
 *     log_write(log, LOG_LEVEL_INFO, "listening",
 *               (struct log_field[]){ log_text("endpoint", endpoint), log_end() });
 * Control characters never reach the line as they are.
 */
void log_write(struct log *log, enum log_level level, const char *message,
               const struct log_field *fields);

/* Would log_write write it? For messages that are dear to put together. */
bool log_wants(const struct log *log, enum log_level level);

static inline struct log_field log_text(const char *key, const char *text)
{
    return (struct log_field){ .key = key, .kind = LOG_FIELD_TEXT, .text = text };
}

static inline struct log_field log_uint(const char *key, uint64_t value)
{
    return (struct log_field){ .key = key, .kind = LOG_FIELD_UINT, .uint = value };
}

static inline struct log_field log_real(const char *key, double value)
{
    return (struct log_field){ .key = key, .kind = LOG_FIELD_REAL, .real = value };
}

static inline struct log_field log_end(void)
{
    return (struct log_field){ .kind = LOG_FIELD_END };
}

#endif
