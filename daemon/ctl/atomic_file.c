#include "ctl/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/again.h"

static int write_all(int fd, const char *path, const char *bytes, size_t count, struct error *err)
{
    while (count) {
        ssize_t written = write(fd, bytes, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return error_set(err, EX_IOERR, "%s: cannot write: %s", path, strerror(errno));
        bytes += written;
        count -= (size_t)written;
    }
    return 0;
}

static int close_checked(int fd, const char *path, int code, struct error *err)
{
    if (close(fd) && !code)
        return error_set(err, EX_IOERR, "%s: cannot write: %s", path, strerror(errno));
    return code;
}

static int write_in_place(const char *path, const void *bytes, size_t count, struct error *err)
{
    int fd = open_again(path, O_WRONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return error_set(err, EX_CANTCREAT, "%s: cannot open: %s", path, strerror(errno));
    return close_checked(fd, path, write_all(fd, path, bytes, count, err), err);
}

/* mkostemp makes files private; this gives them the permissions of any other new file. */
static mode_t usual_mode(void)
{
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static int write_temporary(int fd, const char *path, const void *bytes, size_t count, mode_t mode,
                           struct error *err)
{
    int code = write_all(fd, path, bytes, count, err);
    if (!code && (fchmod(fd, mode) || fsync_again(fd)))
        code = error_set(err, EX_IOERR, "%s: cannot write: %s", path, strerror(errno));
    return close_checked(fd, path, code, err);
}

static int replace(const char *temporary, const char *path, struct error *err)
{
    if (rename(temporary, path))
        return error_set(err, EX_IOERR, "%s: cannot replace: %s", path, strerror(errno));
    return 0;
}

/* A second name, unlike a rename, never takes the place of a file that is there. */
static int appear(const char *temporary, const char *path, struct error *err)
{
    if (link(temporary, path))
        return error_set(err, EX_CANTCREAT, "%s: cannot create: %s", path, strerror(errno));
    unlink(temporary);
    return 0;
}

static int write_beside(const char *path, const void *bytes, size_t count, mode_t mode,
                        int (*finish)(const char *temporary, const char *path, struct error *err),
                        struct error *err)
{
    char *temporary = NULL;
    if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
        return error_memory(err, "naming a temporary file");
    int fd;
    do
        fd = mkostemp(temporary, O_CLOEXEC);
    while (fd < 0 && errno == EINTR); /* the name is then as it was */
    if (fd < 0) {
        int code = error_set(err, EX_CANTCREAT, "%s: cannot create a file there: %s", path,
                             strerror(errno));
        free(temporary);
        return code;
    }
    int code = write_temporary(fd, path, bytes, count, mode, err);
    if (!code)
        code = finish(temporary, path, err);
    if (code)
        unlink(temporary);
    free(temporary);
    return code;
}

int atomic_file_write(const char *path, const void *bytes, size_t count, struct error *err)
{
    struct stat status;
    bool exists = !stat(path, &status);
    if (exists && S_ISDIR(status.st_mode))
        return error_set(err, EX_CANTCREAT, "%s is a directory, expected a file name", path);
    if (exists && !S_ISREG(status.st_mode))
        return write_in_place(path, bytes, count, err);
    return write_beside(path, bytes, count, usual_mode(), replace, err);
}

int atomic_file_create(const char *path, const void *bytes, size_t count, mode_t mode,
                       struct error *err)
{
    return write_beside(path, bytes, count, mode, appear, err);
}
