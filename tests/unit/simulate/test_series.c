#include <criterion/criterion.h>

#include "simulate/series.h"

static double percentile(const struct series *series, double percent)
{
    double value = -1;
    cr_assert_eq(series_percentile(series, percent, &value, NULL), 0);
    return value;
}

Test(series, mean_and_percentiles)
{
    struct series series = { 0 };
    cr_assert_eq(series_mean(&series), 0);
    cr_assert_eq(percentile(&series, 99), 0);
    for (int i = 1; i <= 200; i++)
        cr_assert_eq(series_add(&series, i * 37 % 201, NULL), 0); /* 1 to 200, in another order */
    cr_assert_float_eq(series_mean(&series), 100.5, 1e-12);
    cr_assert_eq(percentile(&series, 99), 198);
    cr_assert_eq(percentile(&series, 50), 100);
    cr_assert_eq(percentile(&series, 100), 200);
    cr_assert_eq(percentile(&series, 0), 1);
    cr_assert_eq(series.values[0], 37, "the order of arrival stays");
    series_fini(&series);
}

Test(series, one_value_is_every_percentile)
{
    struct series series = { 0 };
    cr_assert_eq(series_add(&series, 7, NULL), 0);
    cr_assert_eq(percentile(&series, 99), 7);
    series_fini(&series);
}
