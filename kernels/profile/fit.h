/*
 * The time of a launch by the tiles that it computes: t0 + a x tiles + b x columns, where columns
 * are those of all tiles together, a column being one key against the rows of a tile. Pure.
 */
#ifndef BALLAST_PROFILE_FIT_H
#define BALLAST_PROFILE_FIT_H

#include <stdbool.h>
#include <stddef.h>

/* One launch: its tiles over all KV heads, their columns, and how long it took. */
struct profile_point {
    double tiles, columns, us;
};

struct profile_fit {
    double t0; /* us a launch */
    double a;  /* us a tile, when the device is full */
    double b;  /* us a column of a tile, likewise */
};

/*
 * Least squares of relative errors, so that a short launch counts as much as a long one. No
 * coefficient is negative: one that would be is left out. False when there are fewer than three
 * points, or a time is not above 0, or they do not tell the coefficients apart.
 */
bool profile_fit_points(const struct profile_point *points, size_t count,
                        struct profile_fit *ret_fit);

double profile_fit_us(const struct profile_fit *fit, double tiles, double columns);

/* Relative errors of a fit on points. */
struct profile_fit_error {
    double mean, most;
    size_t points;
};

struct profile_fit_error profile_fit_check(const struct profile_fit *fit,
                                           const struct profile_point *points, size_t count);

/* The middle value of `count` >= 1, the mean of the middle two if even. Sorts them. */
double profile_median(double *values, size_t count);

#endif
