/* Files of a shard: opened only when they are regular, read whole or not at all. */
#ifndef BALLAST_CORPUS_SHARD_FILE_H
#define BALLAST_CORPUS_SHARD_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct shard_file {
    int fd; /* -1 when there is none */
    uint64_t bytes;
};

/*
 * Opens `path` for reading; never waits for a writer of a FIFO. On success *ret_file is the
 * caller's until shard_file_close. EX_NOINPUT when it cannot be opened, EX_OSERR for memory or
 * descriptors, EX_DATAERR for anything but a regular file.
 */
int shard_file_open(const char *path, struct shard_file *ret_file, struct error *err);

/* Accepts fd -1, and leaves it. */
void shard_file_close(struct shard_file *file);

/*
 * Reads exactly `count` bytes at `offset`. EX_IOERR when the system fails or the file ends early;
 * `path` is for the error. On failure the contents of `buffer` are indeterminate. Any thread.
 */
int shard_file_read(const struct shard_file *file, const char *path, uint64_t offset, void *buffer,
                    size_t count, struct error *err);

#endif
