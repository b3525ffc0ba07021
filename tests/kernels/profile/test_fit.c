#include <criterion/criterion.h>
#include <math.h>

#include "kernels/profile/fit.h"

#define POINTS 24

/* Launches as the model says, each off by `noise` up and down in turn. */
static void make_points(struct profile_fit truth, double noise,
                        struct profile_point points[static POINTS])
{
    for (int i = 0; i < POINTS; i++) {
        double tiles = 1000 + 37 * (i % 5), columns = tiles * (2 << i / 2);
        double us = profile_fit_us(&truth, tiles, columns) * (1 + (i % 2 ? noise : -noise));
        points[i] = (struct profile_point){ tiles, columns, us };
    }
    points[0] = (struct profile_point){ 10, 100, profile_fit_us(&truth, 10, 100) };
}

Test(profile_fit, finds_what_made_the_points)
{
    struct profile_fit truth = { 6.5, 0.011, 0.00042 }, found;
    struct profile_point points[POINTS];
    make_points(truth, 0, points);
    cr_assert(profile_fit_points(points, POINTS, &found));
    cr_expect_float_eq(found.t0, truth.t0, 1e-6);
    cr_expect_float_eq(found.a, truth.a, 1e-9);
    cr_expect_float_eq(found.b, truth.b, 1e-12);
    cr_expect_lt(profile_fit_check(&found, points, POINTS).most, 1e-9);
}

Test(profile_fit, error_of_a_noisy_fit_is_that_of_the_noise)
{
    struct profile_fit truth = { 6.5, 0.011, 0.00042 }, found;
    struct profile_point points[POINTS];
    make_points(truth, 0.05, points);
    cr_assert(profile_fit_points(points, POINTS, &found));
    struct profile_fit_error error = profile_fit_check(&found, points, POINTS);
    cr_expect_eq(error.points, POINTS);
    cr_expect(error.mean > 0.01 && error.mean < 0.07, "mean %g", error.mean);
    cr_expect(error.most >= error.mean && error.most < 0.2, "most %g", error.most);
}

/* No other coefficients are better: least squares have no slope at their minimum. */
Test(profile_fit, is_the_least_of_the_squares)
{
    struct profile_fit found;
    struct profile_point points[POINTS];
    make_points((struct profile_fit){ 3, 0.02, 0.001 }, 0.1, points);
    cr_assert(profile_fit_points(points, POINTS, &found));
    double *coefficients[] = { &found.t0, &found.a, &found.b };
    for (int c = 0; c < 3; c++) {
        double sum[3], kept = *coefficients[c];
        for (int side = -1; side <= 1; side++) {
            *coefficients[c] = kept * (1 + 1e-3 * side);
            sum[side + 1] = 0;
            for (int i = 0; i < POINTS; i++)
                sum[side + 1] += pow(
                    profile_fit_us(&found, points[i].tiles, points[i].columns) / points[i].us - 1,
                    2);
        }
        *coefficients[c] = kept;
        cr_expect(sum[1] <= sum[0] && sum[1] <= sum[2], "coefficient %d: %g %g %g", c, sum[0],
                  sum[1], sum[2]);
    }
}

/* A launch that costs nothing must not come out as one that costs less than nothing. */
Test(profile_fit, no_coefficient_is_negative)
{
    struct profile_fit found;
    struct profile_point points[POINTS];
    make_points((struct profile_fit){ -5, 0.02, 0.001 }, 0, points);
    points[0] = points[1];
    cr_assert(profile_fit_points(points, POINTS, &found));
    cr_expect_eq(found.t0, 0);
    cr_expect(found.a >= 0 && found.b > 0);
}

Test(profile_fit, refuses_what_tells_nothing)
{
    struct profile_point points[4] = { { 10, 100, 5 }, { 10, 100, 5 }, { 10, 100, 5 } };
    struct profile_fit found = { 1, 2, 3 };
    cr_expect_not(profile_fit_points(points, 2, &found));
    cr_expect_not(profile_fit_points(points, 3, &found), "all points are the same");
    points[3] = (struct profile_point){ 20, 300, 0 };
    cr_expect_not(profile_fit_points(points, 4, &found), "a time of 0");
    cr_expect(found.t0 == 1 && found.a == 2 && found.b == 3, "untouched");
}

Test(profile_fit, median_is_the_middle)
{
    double odd[] = { 5, 1, 9 }, even[] = { 4, 1, 100, 2 }, one[] = { 7 };
    cr_expect_eq(profile_median(odd, 3), 5);
    cr_expect_eq(profile_median(even, 4), 3);
    cr_expect_eq(profile_median(one, 1), 7);
}
