/*
 * The picture of a simulation: above, the workload of every micro-batch, step by step, before and
 * after; below, what balance costs in delay. Pure.
 */
#ifndef BALLAST_SIMULATE_PLOT_H
#define BALLAST_SIMULATE_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "simulate/run.h"

#define PLOT_MOST_CURVES 6 /* as many as there are hues */
#define PLOT_MOST_POINTS 64

struct plot_point {
    double delay;  /* steps, token-weighted mean */
    double excess; /* makespan ratio - 1 */
};

/* What settings of one policy give, in any order; a line joins those that no other one beats. */
struct plot_curve {
    char label[80];
    struct plot_point points[PLOT_MOST_POINTS];
    size_t count;
};

struct plot {
    const char *title, *subtitle;
    const struct simulation *before, *after;
    const char *before_name, *after_name;
    unsigned before_hue, after_hue;
    const struct plot_curve *curves; /* hue i is that of curve i */
    size_t curve_count;              /* at most PLOT_MOST_CURVES */
};

/* On success *ret_text is the caller's to free. EX_OSERR. */
int plot_draw(const struct plot *plot, char **ret_text, size_t *ret_bytes, struct error *err);

#endif
