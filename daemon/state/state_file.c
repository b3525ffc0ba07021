#include "state/state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/again.h"

#define NAME_BYTES 256

static bool write_all(int fd, const unsigned char *bytes, size_t count)
{
    while (count) {
        ssize_t written = write(fd, bytes, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        bytes += written;
        count -= (size_t)written;
    }
    return true;
}

/* 0, or an errno. */
static int write_temporary(int directory, const char *name, const void *bytes, size_t count)
{
    int fd =
        openat_again(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (fd < 0)
        return errno;
    int failed = write_all(fd, bytes, count) && fsync_again(fd) == 0 ? 0 : errno;
    if (close(fd) != 0 && !failed)
        failed = errno;
    return failed;
}

int state_file_write(int directory, const char *name, const void *bytes, size_t count,
                     struct error *err)
{
    char temporary[NAME_BYTES];
    snprintf(temporary, sizeof temporary, STATE_FILE_TEMPORARY "%.200s", name);
    int failed = write_temporary(directory, temporary, bytes, count);
    if (!failed &&
        (renameat(directory, temporary, directory, name) != 0 || fsync_again(directory) != 0))
        failed = errno;
    if (!failed)
        return 0;
    unlinkat(directory, temporary, 0);
    return error_set(err, failed == ENOSPC || failed == EDQUOT ? EX_CANTCREAT : EX_IOERR,
                     "cannot write %s: %s", name, strerror(failed));
}

/* How many bytes were read, at most `most`; SIZE_MAX after an error, with errno set. */
static size_t read_up_to(int fd, unsigned char *bytes, size_t most)
{
    size_t done = 0;
    while (done < most) {
        ssize_t got = read(fd, bytes + done, most - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return (size_t)-1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return done;
}

static int read_open(int fd, const char *name, size_t most, unsigned char **ret_bytes,
                     size_t *ret_count, struct error *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return error_set(err, EX_DATAERR, "%s: expected a regular file", name);
    if ((uint64_t)status.st_size > most)
        return error_set(err, EX_DATAERR, "%s: found %lld bytes, expected at most %zu", name,
                         (long long)status.st_size, most);
    size_t size = (size_t)status.st_size;
    unsigned char *bytes = malloc(size + 1);
    if (!bytes)
        return error_memory(err, "reading the state directory");
    size_t count = read_up_to(fd, bytes, size);
    if (count == (size_t)-1) {
        free(bytes);
        return error_set(err, EX_IOERR, "cannot read %s: %s", name, strerror(errno));
    }
    bytes[count] = 0;
    *ret_bytes = bytes;
    *ret_count = count;
    return 0;
}

int state_file_read(int directory, const char *name, size_t most, unsigned char **ret_bytes,
                    size_t *ret_count, struct error *err)
{
    int fd = openat_again(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return error_set(err, errno == ENOENT ? EX_NOINPUT : EX_IOERR, "cannot open %s: %s", name,
                         strerror(errno));
    int failed = read_open(fd, name, most, ret_bytes, ret_count, err);
    close(fd);
    return failed;
}
