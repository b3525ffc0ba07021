/* The keys of a command that speaks CURVE: --server-key and --key. */
#ifndef BALLAST_CTL_KEYS_H
#define BALLAST_CTL_KEYS_H

#include <stdbool.h>

#include "base/error.h"
#include "ctl/arguments.h"
#include "wire/key.h"

struct keys {
    bool given; /* otherwise all are empty */
    char server[WIRE_KEY_BYTES], public[WIRE_KEY_BYTES], secret[WIRE_KEY_BYTES];
};

/*
 * Reads the files. EX_USAGE for one option without the other, EX_NOINPUT or EX_CONFIG for a file
 * that holds no such key, or a secret that others may read. keys_wipe afterwards.
 */
int keys_read(const struct arguments *arguments, struct keys *ret_keys, struct error *err);
void keys_wipe(struct keys *keys);

/* Sets them on a client socket. False, with ZeroMQ's errno, when it does not take them. */
bool keys_set(const struct keys *keys, void *socket);

/* EX_CONFIG when this machine's libzmq has no CURVE. */
int keys_need_curve(struct error *err);

#endif
