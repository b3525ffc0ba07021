/* Text in headers: UTF-8, one line, nothing that could confuse a terminal, a log or a C string. */
#ifndef BALLAST_WIRE_TEXT_H
#define BALLAST_WIRE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Is it well-formed UTF-8 (shortest forms, no surrogates, at most U+10FFFF) without control
 * characters (U+0000..U+001F, U+007F..U+009F)? Text may be empty.
 */
bool wire_text_valid(const void *text, size_t bytes);

/*
 * Makes any string fit for a header field of at most `max_bytes`: bytes that may not stand there
 * become '?', and what is too long is cut between characters. For host names and error texts,
 * which may quote file names in any encoding. In place; NULL is accepted.
 */
void wire_text_clean(char *text, size_t max_bytes);

#endif
