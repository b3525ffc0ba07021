/*
 * Time of a pipeline: classic one-forward-one-backward (1F1B) over equal stages, with micro-batches
 * that take as long as they take. Pure.
 */
#ifndef BALLAST_SIMULATE_PIPELINE_H
#define BALLAST_SIMULATE_PIPELINE_H

#include <stdint.h>

#include "base/error.h"

/* A backward pass takes twice as long as a forward pass. */
#define PIPELINE_FORWARD_SHARE (1.0 / 3)

struct pipeline {
    uint32_t stages;
    double *forward; /* per stage: when its latest forward pass was done */
    double *busy;    /* per stage: until when it is busy */
};

/* EX_OSERR when out of memory. Call pipeline_fini afterwards. */
int pipeline_init(struct pipeline *pipeline, uint32_t stages, struct error *err);
void pipeline_fini(struct pipeline *pipeline);

/*
 * When the last backward pass of `count` micro-batches is done; times[i] is what one stage needs
 * for the forward and backward pass of micro-batch i. Equal times t give (count + stages - 1) x t.
 */
double pipeline_makespan(struct pipeline *pipeline, const double *times, uint32_t count);

/* The same if all took the mean of `sum`: work plus the bubble that no balance takes away. */
double pipeline_equal_makespan(const struct pipeline *pipeline, double sum, uint32_t count);

#endif
