/* The picture that `ballastctl simulate --plot` writes. */
#ifndef BALLAST_CTL_SIMULATE_PLOT_H
#define BALLAST_CTL_SIMULATE_PLOT_H

#include "base/error.h"
#include "ctl/simulate_variants.h"
#include "simulate/recommend.h"

/*
 * Draws the baseline against the fastest variant, and every policy's balance over delay; with a
 * recommendation (or NULL) also what its trials gave. Writes `path` whole or not at all.
 */
int simulate_plot(const struct variants *variants, const struct recommendation *recommendation,
                  const char *path, struct error *err);

#endif
