/* Calls on files that a signal may cut short (EINTR), made again until they are through. */
#ifndef BALLAST_BASE_AGAIN_H
#define BALLAST_BASE_AGAIN_H

#include <sys/types.h>

/* open and openat; `mode` counts with O_CREAT only. */
int open_again(const char *path, int flags, mode_t mode);
int openat_again(int directory, const char *path, int flags, mode_t mode);

int fsync_again(int fd);

#endif
