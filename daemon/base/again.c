#include "base/again.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int openat_again(int directory, const char *path, int flags, mode_t mode)
{
    int fd;
    do
        fd = openat(directory, path, flags, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

int open_again(const char *path, int flags, mode_t mode)
{
    return openat_again(AT_FDCWD, path, flags, mode);
}

int fsync_again(int fd)
{
    int failed;
    do
        failed = fsync(fd);
    while (failed && errno == EINTR);
    return failed;
}
