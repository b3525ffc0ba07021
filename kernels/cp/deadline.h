/* A moment after which nobody waits any longer. */
#ifndef BALLAST_KERNELS_CP_DEADLINE_H
#define BALLAST_KERNELS_CP_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline struct timespec clock_after_ns(int64_t ns)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    now.tv_sec += (time_t)(ns / 1000000000);
    now.tv_nsec += (long)(ns % 1000000000);
    if (now.tv_nsec >= 1000000000) {
        now.tv_nsec -= 1000000000;
        now.tv_sec++;
    }
    return now;
}

struct deadline {
    struct timespec at;
};

static inline struct deadline deadline_in_ms(uint32_t ms)
{
    return (struct deadline){ clock_after_ns((int64_t)ms * 1000000) };
}

static inline bool deadline_passed(const struct deadline *deadline)
{
    struct timespec now = clock_after_ns(0);
    if (now.tv_sec != deadline->at.tv_sec)
        return now.tv_sec > deadline->at.tv_sec;
    return now.tv_nsec >= deadline->at.tv_nsec;
}

#endif
