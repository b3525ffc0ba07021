/*
 * Text that grows in memory while stdio writes it: whole, or an error. (open_memstream may end with
 * a shorter text, or with none, and call that success when memory runs out.)
 */
#ifndef BALLAST_BASE_TEXT_H
#define BALLAST_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

struct text {
    FILE *file; /* to write to; whether it all went well is for text_close to say */
    char *bytes;
    size_t count, capacity;
    bool failed;
    char buffer[1024]; /* the file's, so a struct that is open stays where it is */
};

/* Begins an empty text. EX_OSERR; `what` is what for, as in error_memory. */
int text_open(struct text *text, const char *what, struct error *err);

/*
 * Ends it: *ret_text is the caller's to free; a zero byte follows its *ret_bytes bytes (`ret_bytes`
 * may be NULL). EX_OSERR when anything that was written before found no memory.
 */
int text_close(struct text *text, const char *what, char **ret_text, size_t *ret_bytes,
               struct error *err);

/* Ends it and throws it away. */
void text_drop(struct text *text);

#endif
