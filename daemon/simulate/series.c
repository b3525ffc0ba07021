#include "simulate/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void series_fini(struct series *series)
{
    free(series->values);
    *series = (struct series){ 0 };
}

int series_add(struct series *series, double value, struct error *err)
{
    if (!grow(series->values, &series->capacity, series->count + 1))
        return error_memory(err, "keeping figures of steps");
    series->values[series->count++] = value;
    return 0;
}

double series_mean(const struct series *series)
{
    double sum = 0;
    for (size_t i = 0; i < series->count; i++)
        sum += series->values[i];
    return series->count ? sum / (double)series->count : 0;
}

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

int series_percentile(const struct series *series, double percent, double *ret_value,
                      struct error *err)
{
    if (series->count == 0) {
        *ret_value = 0;
        return 0;
    }
    double *sorted = malloc(series->count * sizeof *sorted);
    if (!sorted)
        return error_memory(err, "sorting figures of steps");
    memcpy(sorted, series->values, series->count * sizeof *sorted);
    qsort(sorted, series->count, sizeof *sorted, by_size);
    size_t rank = (size_t)ceil(percent / 100 * (double)series->count);
    *ret_value = sorted[rank > 0 ? rank - 1 : 0];
    free(sorted);
    return 0;
}
