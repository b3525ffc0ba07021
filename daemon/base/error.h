/* What went wrong, for a person to read, and which exit status it deserves. */
#ifndef BALLAST_BASE_ERROR_H
#define BALLAST_BASE_ERROR_H

#include <sysexits.h>

#define ERROR_TEXT_BYTES 512

/* An error names what, where, found, expected, and what to do. Zero-initialise before use. */
struct error {
    int code; /* 0, or a sysexits status (EX_DATAERR, EX_CONFIG, EX_IOERR, ...) */
    char text[ERROR_TEXT_BYTES]; /* one line, no newline */
};

/*
 * Fills `err` (which may be NULL) and returns `code`, so that a function that returns a sysexits
 * status, 0 being success, can end with `return error_set(err, EX_DATAERR, "...")`.
 * A text too long for the buffer is cut.
 */
__attribute__((format(printf, 3, 4))) int error_set(struct error *err, int code, const char *format,
                                                    ...);

/* Puts "prefix: " before the text that is there already; returns err->code. */
__attribute__((format(printf, 2, 3))) int error_prefix(struct error *err, const char *format, ...);

/* Out of memory while doing `what`; returns EX_OSERR. */
int error_memory(struct error *err, const char *what);

/* Of an input that cannot be opened, by errno: EX_OSERR when memory or descriptors have run out,
 * else EX_NOINPUT. */
int error_of_input(int cause);

/* An analyser that reads one file at a time must still know that the code comes back. */
#ifdef __clang_analyzer__
#define error_set(err, code, ...) (error_set(err, code, __VA_ARGS__), (code))
#define error_memory(err, what) (error_memory(err, what), EX_OSERR)
#endif

#endif
