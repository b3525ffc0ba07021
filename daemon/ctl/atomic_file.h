/* Files that appear whole or not at all. */
#ifndef BALLAST_CTL_ATOMIC_FILE_H
#define BALLAST_CTL_ATOMIC_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * Writes `count` bytes to `path`: into a temporary file beside it, synced, then renamed over it.
 * A path that exists and is no regular file (a pipe, a device) is written to as it is.
 * EX_IOERR or EX_CANTCREAT, naming path and cause; then nothing is left behind. Blocks on I/O.
 */
int atomic_file_write(const char *path, const void *bytes, size_t count, struct error *err);

/*
 * The same for a file that must not exist yet, with exactly the permissions of `mode`: EX_CANTCREAT
 * when it does. Nobody sees it half written or with other permissions.
 */
int atomic_file_create(const char *path, const void *bytes, size_t count, mode_t mode,
                       struct error *err);

#endif
