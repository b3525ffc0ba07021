/*
 * The list of client keys that may connect. One line a client:
 *
 *     # a comment: '#', then a blank or nothing (a key may begin with '#')
 *     KEY ROLE NAME [EXPIRES]
 *
 * KEY is a public key, 40 characters of Z85; ROLE trainer or operator; NAME is letters, digits,
 * '.', '_' and '-', at most 63, for people; EXPIRES is the last day, 2027-01-31, or the last
 * second, 2027-01-31T12:00:00Z, both in UTC. No key stands there twice; names may.
 *
 * Pure text and one file; no thread.
 */
#ifndef BALLAST_SERVE_ALLOW_LIST_H
#define BALLAST_SERVE_ALLOW_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "wire/key.h"

#define ALLOW_LIST_MAX_BYTES (4u << 20)
#define ALLOW_LIST_NAME_BYTES 64u /* with the NUL */

/* Bits, so that a handler can name several. */
enum access_role { ROLE_TRAINER = 1, ROLE_OPERATOR = 2 };

struct allowed_client {
    char key[WIRE_KEY_BYTES];
    char name[ALLOW_LIST_NAME_BYTES];
    enum access_role role;
    int64_t last_second; /* since 1970, UTC, after which it is refused; INT64_MAX: never */
    unsigned line;
};

/* Sorted by key. */
struct allow_list {
    struct allowed_client *clients;
    size_t count, capacity;
};

/*
 * Reads a list; `name` stands for the file. EX_CONFIG names the line, what was found and what was
 * expected; also for a list without a client, which would lock everybody out.
 */
int allow_list_parse(const char *name, const char *text, size_t bytes, struct allow_list *ret_list,
                     struct error *err);

/* The same from a file that not everybody may write. EX_NOINPUT, EX_IOERR too. Blocks on I/O. */
int allow_list_load(const char *path, struct allow_list *ret_list, struct error *err);

/* The client with that key, or NULL; borrowed from the list. */
const struct allowed_client *allow_list_find(const struct allow_list *list, const char *key);

/* A zeroed list is accepted, and left behind. */
void allow_list_fini(struct allow_list *list);

#endif
