#include "corpus/shard_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/again.h"

static const char *kind_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return "a directory";
    case S_IFIFO:
        return "a FIFO";
    case S_IFSOCK:
        return "a socket";
    case S_IFCHR:
    case S_IFBLK:
        return "a device";
    default:
        return "no file";
    }
}

static int refuse_open(const char *path, int cause, struct error *err)
{
    if (cause == EMFILE || cause == ENFILE)
        return error_set(err, EX_OSERR,
                         "%s: cannot be opened: %s; every token shard holds one descriptor: raise "
                         "the limit (ulimit -n, LimitNOFILE=) or merge shards",
                         path, strerror(cause));
    return error_set(err, error_of_input(cause), "%s: cannot be opened: %s", path, strerror(cause));
}

int shard_file_open(const char *path, struct shard_file *ret_file, struct error *err)
{
    /* O_NONBLOCK: a FIFO without a writer must be refused, not waited for. */
    int fd = open_again(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return refuse_open(path, errno, err);
    struct stat facts;
    if (fstat(fd, &facts)) {
        int cause = errno;
        close(fd);
        return error_set(err, EX_IOERR, "%s: size cannot be read: %s", path, strerror(cause));
    }
    if (!S_ISREG(facts.st_mode)) {
        close(fd);
        return error_set(err, EX_DATAERR, "%s: is %s, expected a regular file", path,
                         kind_of(facts.st_mode));
    }
    *ret_file = (struct shard_file){ .fd = fd, .bytes = (uint64_t)facts.st_size };
    return 0;
}

void shard_file_close(struct shard_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

int shard_file_read(const struct shard_file *file, const char *path, uint64_t offset, void *buffer,
                    size_t count, struct error *err)
{
    unsigned char *to = buffer;
    size_t done = 0;
    while (done < count) {
        ssize_t got = pread(file->fd, to + done, count - done, (off_t)(offset + done));
        if (got > 0) {
            done += (size_t)got;
            continue;
        }
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set(err, EX_IOERR, "%s: reading at byte %" PRIu64 ": %s", path,
                             offset + done, strerror(errno));
        return error_set(err, EX_IOERR,
                         "%s: ends at byte %" PRIu64 ", expected %" PRIu64
                         " bytes as when it was opened: the file has shrunk; shards must not "
                         "change while they are served",
                         path, offset + done, file->bytes);
    }
    return 0;
}
