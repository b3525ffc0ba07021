#include "simulate/pipeline.h"

#include <stdlib.h>

int pipeline_init(struct pipeline *pipeline, uint32_t stages, struct error *err)
{
    *pipeline = (struct pipeline){ .stages = stages,
                                   .forward = calloc(stages, sizeof(double)),
                                   .busy = calloc(stages, sizeof(double)) };
    if (pipeline->forward && pipeline->busy)
        return 0;
    pipeline_fini(pipeline);
    return error_memory(err, "simulating a pipeline");
}

void pipeline_fini(struct pipeline *pipeline)
{
    free(pipeline->forward);
    free(pipeline->busy);
    *pipeline = (struct pipeline){ 0 };
}

static double later(double a, double b)
{
    return a > b ? a : b;
}

/*
 * Round n: forward passes of micro-batch n - s on every stage s. From the last stage down, because
 * stage s starts from what stage s - 1 finished the round before.
 */
static void forward_round(struct pipeline *pipeline, const double *times, uint64_t count,
                          uint64_t n)
{
    for (uint32_t s = pipeline->stages; s-- > 0;) {
        if (n < s || n - s >= count)
            continue;
        double ready = s > 0 ? pipeline->forward[s - 1] : 0;
        double start = later(pipeline->busy[s], ready);
        pipeline->busy[s] = start + times[n - s] * PIPELINE_FORWARD_SHARE;
        pipeline->forward[s] = pipeline->busy[s];
    }
}

/* The backward passes of one micro-batch, from the last stage to the first. */
static void backward_round(struct pipeline *pipeline, double time)
{
    double ready = pipeline->forward[pipeline->stages - 1];
    for (uint32_t s = pipeline->stages; s-- > 0;) {
        double start = later(pipeline->busy[s], ready);
        pipeline->busy[s] = start + time * (1 - PIPELINE_FORWARD_SHARE);
        ready = pipeline->busy[s];
    }
}

/*
 * Stage s of p runs F(0) .. F(p-s-1), then B(0), F(p-s), B(1), F(p-s+1), ..., then what is left of
 * the backward passes. With `before` the pass that the stage runs before this one:
 *     F(s, i) ends at max(F(s-1, i), before) + forward time of i
 *     B(s, i) ends at max(B(s+1, i), before) + backward time of i;  B(p, i) stands for F(p-1, i)
 * Going through F(s, n - s) and B(s, n - p + 1) round by round, n = 0, 1, ..., every stage's passes
 * come up in just that order, and what they wait for has come up before.
 */
double pipeline_makespan(struct pipeline *pipeline, const double *times, uint32_t count)
{
    for (uint32_t s = 0; s < pipeline->stages; s++)
        pipeline->forward[s] = pipeline->busy[s] = 0;
    uint64_t last_stage = pipeline->stages - 1;
    for (uint64_t n = 0; n < count + last_stage; n++) {
        forward_round(pipeline, times, count, n);
        if (n >= last_stage)
            backward_round(pipeline, times[n - last_stage]);
    }
    return pipeline->busy[0];
}

double pipeline_equal_makespan(const struct pipeline *pipeline, double sum, uint32_t count)
{
    return count ? sum * ((double)count + pipeline->stages - 1) / count : 0;
}
