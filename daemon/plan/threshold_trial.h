/* Running `wlb` over a sample, to see what thresholds give. */
#ifndef BALLAST_PLAN_THRESHOLD_TRIAL_H
#define BALLAST_PLAN_THRESHOLD_TRIAL_H

#include "plan/auto_thresholds.h"

/*
 * Fills the figures of `trial` from its thresholds. A sample too short for a single step gives all
 * zeros. *ret_steps is how many were packed. EX_OSERR when out of memory.
 */
int threshold_trial_run(struct threshold_trial *trial, const struct piece *pieces, size_t count,
                        const struct pack_shape *shape, const struct pack_options *options,
                        uint64_t *ret_steps, struct error *err);

#endif
