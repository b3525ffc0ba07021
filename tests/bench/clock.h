/* Time and percentiles for the benchmarks. */
#ifndef BALLAST_BENCH_CLOCK_H
#define BALLAST_BENCH_CLOCK_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t read_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t now_ns(void)
{
    return read_clock_ns(CLOCK_MONOTONIC);
}

/* Time that this thread has run: what it would take on a core of its own. */
static inline uint64_t thread_ns(void)
{
    return read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline int rising_u64(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Sorts `values` and returns the one that `per_mille` of them do not exceed; `count` > 0. */
static inline uint64_t percentile(uint64_t *values, size_t count, unsigned per_mille)
{
    qsort(values, count, sizeof *values, rising_u64);
    return values[(count - 1) * per_mille / 1000];
}

#endif
