/* Whole files of a directory that is open: read, or replaced at once. Blocks on I/O. */
#ifndef BALLAST_STATE_STATE_FILE_H
#define BALLAST_STATE_STATE_FILE_H

#include <stddef.h>

#include "base/error.h"

#define STATE_FILE_TEMPORARY ".new-" /* how names begin that are not finished */

/*
 * Writes `name`: into a temporary file, synced, renamed over it, the directory synced. EX_IOERR or
 * EX_CANTCREAT names the file and the system's reason; `name` is then what it was, and no temporary
 * file is left unless the system refuses even that.
 */
int state_file_write(int directory, const char *name, const void *bytes, size_t count,
                     struct error *err);

/*
 * Reads a file of at most `most` bytes. The bytes are the caller's to free; a zero byte follows
 * them. EX_NOINPUT when there is none, EX_DATAERR when it is larger or no regular file, EX_IOERR,
 * EX_OSERR.
 */
int state_file_read(int directory, const char *name, size_t most, unsigned char **ret_bytes,
                    size_t *ret_count, struct error *err);

#endif
