#include "kernels/profile/fit.h"

#include <math.h>
#include <stdlib.h>

#define TERMS 3

/* Below this share of what a coefficient would explain alone, the rest explains it too. */
#define SMALLEST_PIVOT 1e-9

/* Normal equations of the terms in use; `in_use` has a bit a term. */
struct normal {
    double matrix[TERMS][TERMS], right[TERMS];
};

static void terms_of(const struct profile_point *point, double terms[TERMS])
{
    terms[0] = 1 / point->us;
    terms[1] = point->tiles / point->us;
    terms[2] = point->columns / point->us;
}

static void accumulate(struct normal *normal, const struct profile_point *points, size_t count)
{
    *normal = (struct normal){ 0 };
    for (size_t p = 0; p < count; p++) {
        double terms[TERMS];
        terms_of(&points[p], terms);
        for (int i = 0; i < TERMS; i++) {
            normal->right[i] += terms[i];
            for (int j = 0; j < TERMS; j++)
                normal->matrix[i][j] += terms[i] * terms[j];
        }
    }
}

/* Takes row and column `i` out of the equations still to be solved; false when it has no pivot. */
static bool eliminate(struct normal *normal, int i, double alone, unsigned in_use)
{
    double pivot = normal->matrix[i][i];
    if (!(pivot > alone * SMALLEST_PIVOT))
        return false;
    for (int row = i + 1; row < TERMS; row++) {
        if (!(in_use & 1u << row))
            continue;
        double factor = normal->matrix[row][i] / pivot;
        for (int j = i; j < TERMS; j++)
            normal->matrix[row][j] -= factor * normal->matrix[i][j];
        normal->right[row] -= factor * normal->right[i];
    }
    return true;
}

/* Cholesky's order without the roots: the matrix is symmetric and positive. */
static bool solve(struct normal normal, unsigned in_use, double ret[TERMS])
{
    double alone[TERMS];
    for (int i = 0; i < TERMS; i++)
        alone[i] = normal.matrix[i][i];
    for (int i = 0; i < TERMS; i++)
        if (in_use & 1u << i && !eliminate(&normal, i, alone[i], in_use))
            return false;
    for (int i = TERMS - 1; i >= 0; i--) {
        ret[i] = 0;
        if (!(in_use & 1u << i))
            continue;
        double rest = normal.right[i];
        for (int j = i + 1; j < TERMS; j++)
            if (in_use & 1u << j)
                rest -= normal.matrix[i][j] * ret[j];
        ret[i] = rest / normal.matrix[i][i];
    }
    return true;
}

/* The term that is furthest below 0 for its size, or -1. */
static int most_negative(const struct normal *normal, const double found[TERMS])
{
    int worst = -1;
    double least = 0;
    for (int i = 0; i < TERMS; i++) {
        double share = found[i] * sqrt(normal->matrix[i][i]);
        if (share < least) {
            least = share;
            worst = i;
        }
    }
    return worst;
}

bool profile_fit_points(const struct profile_point *points, size_t count,
                        struct profile_fit *ret_fit)
{
    if (count < TERMS)
        return false;
    for (size_t p = 0; p < count; p++)
        if (!(points[p].us > 0))
            return false;
    struct normal normal;
    accumulate(&normal, points, count);
    double found[TERMS];
    unsigned in_use = (1u << TERMS) - 1;
    for (;;) {
        if (!solve(normal, in_use, found))
            return false;
        int negative = most_negative(&normal, found);
        if (negative < 0)
            break;
        in_use &= ~(1u << negative);
    }
    *ret_fit = (struct profile_fit){ found[0], found[1], found[2] };
    return true;
}

double profile_fit_us(const struct profile_fit *fit, double tiles, double columns)
{
    return fit->t0 + fit->a * tiles + fit->b * columns;
}

struct profile_fit_error profile_fit_check(const struct profile_fit *fit,
                                           const struct profile_point *points, size_t count)
{
    struct profile_fit_error error = { 0, 0, count };
    for (size_t p = 0; p < count; p++) {
        double off =
            fabs(profile_fit_us(fit, points[p].tiles, points[p].columns) / points[p].us - 1);
        error.mean += off / (double)count;
        error.most = off > error.most ? off : error.most;
    }
    return error;
}

static int compare_values(const void *a_pointer, const void *b_pointer)
{
    double a = *(const double *)a_pointer, b = *(const double *)b_pointer;
    return (a > b) - (a < b);
}

double profile_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_values);
    size_t middle = count / 2;
    return count % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}
