/* A directory of a test's own. Helpers of tests abort with a message when the system fails them. */
#ifndef BALLAST_TESTS_TEMP_DIR_H
#define BALLAST_TESTS_TEMP_DIR_H

#include <stddef.h>

#define TEMP_PATH_BYTES 512

struct temp_dir {
    char path[TEMP_PATH_BYTES];
};

/* Made under $TMPDIR or /tmp; removed, with all that is in it, by temp_dir_remove. */
struct temp_dir temp_dir_make(void);
void temp_dir_remove(const struct temp_dir *dir);

/* "DIR/name" into `path`; returns `path`. */
const char *temp_path(const struct temp_dir *dir, const char *name, char path[TEMP_PATH_BYTES]);

/* Writes a whole file, replacing what was there. */
void file_write(const char *path, const void *bytes, size_t count);

/* Reads a whole file; the bytes are the caller's to free, and a zero byte follows them. */
unsigned char *file_read_all(const char *path, size_t *ret_count);

#endif
