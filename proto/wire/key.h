/*
 * Keys of CURVE as text: 40 characters of Z85. They stand in files of their own, one a file:
 *
 *     # lines that begin with '#' are comments
 *     secret 7YS#...
 *
 * or `public`, so that the one is never taken for the other. `ballastctl keygen` writes both.
 */
#ifndef BALLAST_WIRE_KEY_H
#define BALLAST_WIRE_KEY_H

#include <stdbool.h>
#include <stddef.h>

#define WIRE_KEY_CHARACTERS 40u
#define WIRE_KEY_BYTES 41u      /* with the NUL behind it */
#define WIRE_KEY_WHY_BYTES 400u /* room for why a file holds no key */

enum wire_key_kind { WIRE_KEY_PUBLIC, WIRE_KEY_SECRET };

/* Is it a key? `text` need not end with NUL. */
bool wire_key_valid(const char *text, size_t bytes);

/* "public" or "secret": the word in front of the key in a file. */
const char *wire_key_word(enum wire_key_kind kind);

/*
 * Reads the key of `kind` from a file. Returns 0, EX_NOINPUT when it cannot be read, or EX_CONFIG
 * when it holds no such key, or is a secret that others than its owner may read; `why` then says so
 * in one line and what to do, and ret_key is untouched. Blocks on I/O. What was read of a secret is
 * wiped from memory but for ret_key, which is the caller's to wipe.
 */
int wire_key_file_read(const char *path, enum wire_key_kind kind, char ret_key[WIRE_KEY_BYTES],
                       char *why, size_t why_bytes);

/* The same from text, as far as it is about text; `name` stands for the path. */
int wire_key_parse(const char *name, const char *text, size_t bytes, enum wire_key_kind kind,
                   char ret_key[WIRE_KEY_BYTES], char *why, size_t why_bytes);

#endif
