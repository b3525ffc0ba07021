/* Time and percentiles for the benchmarks. */
#ifndef BALLAST_BENCH_CLOCK_H
#define BALLAST_BENCH_CLOCK_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
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
