/*
 * What a run of steps amounts to: the figures of PAPER.md and DESIGN section 2, summed up plan by
 * plan. Pure; floating point is used for reports only, never for decisions.
 */
#ifndef BALLAST_SIMULATE_TALLY_H
#define BALLAST_SIMULATE_TALLY_H

#include <stdint.h>

#include "plan/plan.h"

/* Zero-initialise. */
struct tally {
    uint64_t steps, microbatches, pieces, tokens;
    double imbalance_sum, imbalance_max; /* of max / mean workload, step by step */
    double max_workload_sum, mean_workload_sum;
    double delay_token_sum; /* (step served - step arrived) x tokens */
    uint64_t delay_max;     /* steps */
    uint32_t longest;       /* tokens of the longest micro-batch */
    double busiest_sum;     /* attention of the busiest CP rank of every micro-batch */
    double ideal_sum;       /* half the sum of squared piece lengths, over cp */
    uint64_t per_document;  /* micro-batches sharded that way */
};

void tally_add(struct tally *tally, const struct step_plan *plan);

double tally_imbalance(const struct tally *tally);       /* mean over steps */
double tally_makespan_ratio(const struct tally *tally);  /* sum of maxima / sum of means */
double tally_delay(const struct tally *tally);           /* steps, token-weighted mean */
double tally_busiest_cp_rank(const struct tally *tally); /* busiest over ideal */

#endif
