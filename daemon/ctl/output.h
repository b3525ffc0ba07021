/*
 * What ballastctl prints: written through one object, so that a full disk or a closed pipe is found
 * and reported, and colour appears on terminals only.
 */
#ifndef BALLAST_CTL_OUTPUT_H
#define BALLAST_CTL_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

enum style { STYLE_PLAIN, STYLE_TITLE, STYLE_GOOD, STYLE_WARNING, STYLE_BAD, STYLE_FAINT };

struct output {
    FILE *stream;
    bool terminal; /* a person looks at it */
    bool colour;   /* terminal, unless NO_COLOR is set or TERM is "dumb" */
    int failure;   /* errno of the first write that failed, or 0 */
};

void output_init(struct output *out, FILE *stream);

/* Formats and writes; does nothing once a write has failed. */
__attribute__((format(printf, 2, 3))) void output_print(struct output *out, const char *format,
                                                        ...);

/*
 * Writes `text` with every control byte, so also every escape sequence and line break, replaced:
 * for names that come from files or from the network.
 */
void output_safe(struct output *out, const char *text);

/* Begins a style, or ends it with STYLE_PLAIN; writes nothing without colour. */
void output_style(struct output *out, enum style style);

/*
 * Hands everything to the system. EX_IOERR when any write so far has failed; a reader that closed
 * its pipe knows what it did, so for that err->text is left empty.
 */
int output_flush(struct output *out, struct error *err);

/*
 * Waits until `milliseconds` have passed. Returns false at once when the reader of a pipe has gone,
 * so that nothing further needs printing.
 */
bool output_wait(const struct output *out, uint64_t milliseconds);

/* Empties the terminal for the next picture; does nothing elsewhere. */
void output_clear_screen(struct output *out);

/*
 * Opens what of descriptors 0 to 2 the caller left closed, so that no file of ours ever lands on
 * them; writing to a closed standard output still fails. Call before anything is opened.
 */
void output_guard_descriptors(void);

#endif
