/* A log message as one line of text or JSON. */
#ifndef BALLAST_OBSERVE_LOG_LINE_H
#define BALLAST_OBSERVE_LOG_LINE_H

#include <stddef.h>

#include "observe/log.h"

struct log_message {
    const char *time; /* NULL leaves it out */
    enum log_level level;
    const char *text;
    const struct log_field *fields;
};

/*
 * Write the line, newline and NUL included, into `line` of `bytes` >= 512 bytes and return its
 * length. What does not fit is cut, or in JSON left out, and marked.
 */
size_t log_line_text(const struct log_message *message, char *line, size_t bytes);
size_t log_line_json(const struct log_message *message, char *line, size_t bytes);

/* "error", "warning", "info", "debug". */
const char *log_level_name(enum log_level level);

#endif
