/* A figure of every step, kept for its mean and its percentiles. */
#ifndef BALLAST_SIMULATE_SERIES_H
#define BALLAST_SIMULATE_SERIES_H

#include <stddef.h>

#include "base/error.h"

/* Zero-initialise, series_fini at the end. */
struct series {
    double *values; /* in the order in which they came */
    size_t count, capacity;
};

void series_fini(struct series *series);

/* EX_OSERR when out of memory. */
int series_add(struct series *series, double value, struct error *err);

double series_mean(const struct series *series); /* 0 of nothing */

/*
 * The smallest value that `percent` % of all values do not exceed; 0 of nothing. Exact: sorts a
 * copy. EX_OSERR when out of memory.
 */
int series_percentile(const struct series *series, double percent, double *ret_value,
                      struct error *err);

#endif
