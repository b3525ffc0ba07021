/* The client's time: monotonic nanoseconds, so that nothing depends on the wall clock. */
#ifndef BALLAST_CLIENT_CLOCK_H
#define BALLAST_CLIENT_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_NS_PER_MS INT64_C(1000000)

static inline int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
