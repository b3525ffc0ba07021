#include "support/temp_dir.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void fail(const char *what, const char *path)
{
    fprintf(stderr, "test support: %s %s: %s\n", what, path, strerror(errno));
    abort();
}

struct temp_dir temp_dir_make(void)
{
    struct temp_dir dir;
    const char *parent = getenv("TMPDIR");
    snprintf(dir.path, sizeof dir.path, "%s/ballast-test-XXXXXX", parent ? parent : "/tmp");
    if (!mkdtemp(dir.path))
        fail("making", dir.path);
    return dir;
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *where)
{
    (void)facts;
    (void)kind;
    (void)where;
    return remove(path);
}

void temp_dir_remove(const struct temp_dir *dir)
{
    if (nftw(dir->path, remove_one, 16, FTW_DEPTH | FTW_PHYS))
        fail("removing", dir->path);
}

const char *temp_path(const struct temp_dir *dir, const char *name, char path[TEMP_PATH_BYTES])
{
    int length = snprintf(path, TEMP_PATH_BYTES, "%s/%s", dir->path, name);
    if (length < 0 || length >= TEMP_PATH_BYTES)
        fail("naming", name);
    return path;
}

void file_write(const char *path, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        fail("creating", path);
    if (count > 0 && fwrite(bytes, 1, count, file) != count)
        fail("writing", path);
    if (fclose(file))
        fail("closing", path);
}

unsigned char *file_read_all(const char *path, size_t *ret_count)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail("opening", path);
    if (fseek(file, 0, SEEK_END))
        fail("seeking", path);
    long size = ftell(file);
    unsigned char *bytes = size < 0 ? NULL : malloc((size_t)size + 1);
    if (!bytes)
        fail("making room for", path);
    rewind(file);
    if (fread(bytes, 1, (size_t)size, file) != (size_t)size)
        fail("reading", path);
    fclose(file);
    bytes[size] = '\0';
    *ret_count = (size_t)size;
    return bytes;
}
