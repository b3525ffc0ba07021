/*
 * Predicted time of a step of 4D parallel training, level by level, so that one can read where the
 * imbalance of a step plan comes in and how each level passes it on. Pure; figures for reports
 * only.
 *
 * Times are in the cost model's unit. TP ranks are equal, and their share is the cost model's.
 */
#ifndef BALLAST_SIMULATE_LEVELS_H
#define BALLAST_SIMULATE_LEVELS_H

#include <stdint.h>

#include "base/error.h"
#include "config/config.h"
#include "plan/plan.h"
#include "simulate/pipeline.h"

/* Each level holds those above it; the last is the time of the step. */
struct step_levels {
    double work;   /* all work, divided evenly over DP replicas, stages and CP ranks */
    double cp;     /* every micro-batch takes as long as its busiest CP rank */
    double bubble; /* and the pipeline fills and drains, with micro-batches that are equal */
    double pp;     /* and micro-batches are what they are; mean over the DP replicas */
    double dp;     /* and all wait for the slowest replica */
};

/* What the levels of a job's steps are computed with. */
struct level_model {
    struct parallel parallel;
    struct cost_model cost;
    struct pipeline pipeline;
    double *times; /* working memory: of every micro-batch of a replica, on one stage */
};

/* EX_CONFIG when the costs are wrong, EX_OSERR. Call level_model_fini afterwards, also on failure.
 */
int level_model_init(struct level_model *model, const struct config *config, struct error *err);
void level_model_fini(struct level_model *model);

void level_model_step(struct level_model *model, const struct step_plan *plan,
                      struct step_levels *ret_levels);

void step_levels_add(struct step_levels *sum, const struct step_levels *levels);

#endif
