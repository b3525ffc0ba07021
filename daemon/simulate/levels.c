#include "simulate/levels.h"

#include <stdlib.h>

#include "cost/cp_time.h"

int level_model_init(struct level_model *model, const struct config *config, struct error *err)
{
    *model = (struct level_model){ .parallel = config->parallel };
    int status = cost_model_init(&model->cost, &config->cost, err);
    if (status)
        return status;
    model->times = calloc(config->parallel.microbatches, sizeof *model->times);
    if (!model->times)
        return error_memory(err, "simulating a step");
    return pipeline_init(&model->pipeline, config->parallel.pp, err);
}

void level_model_fini(struct level_model *model)
{
    pipeline_fini(&model->pipeline);
    free(model->times);
    *model = (struct level_model){ 0 };
}

static uint64_t busiest_pairs(const struct step_plan *plan, uint32_t microbatch)
{
    uint64_t busiest = 0;
    for (uint32_t r = 0; r < plan->rank_count; r++) {
        uint64_t pairs = step_plan_rank(plan, microbatch, r)->attention;
        busiest = pairs > busiest ? pairs : busiest;
    }
    return busiest;
}

/* Time of a micro-batch on one stage: that of its busiest CP rank. */
static double microbatch_time(const struct level_model *model, const struct step_plan *plan,
                              uint32_t index)
{
    uint64_t padded = plan->microbatches[index].padded_tokens;
    return (double)cp_time(&model->cost, busiest_pairs(plan, index), padded) / model->parallel.pp;
}

void level_model_step(struct level_model *model, const struct step_plan *plan,
                      struct step_levels *ret_levels)
{
    const struct parallel *parallel = &model->parallel;
    struct step_levels levels = { 0 };
    for (uint32_t replica = 0; replica < parallel->dp; replica++) {
        double sum = 0;
        for (uint32_t slot = 0; slot < parallel->microbatches; slot++) {
            uint32_t m = replica * parallel->microbatches + slot;
            levels.work += (double)plan->microbatches[m].workload;
            model->times[slot] = microbatch_time(model, plan, m);
            sum += model->times[slot];
        }
        double makespan = pipeline_makespan(&model->pipeline, model->times, parallel->microbatches);
        levels.cp += sum / parallel->dp;
        levels.pp += makespan / parallel->dp;
        levels.dp = makespan > levels.dp ? makespan : levels.dp;
    }
    /* Workloads are those of all CP ranks together, unless the cost model divides them. */
    levels.work *= model->cost.cp / ((double)parallel->dp * parallel->pp * parallel->cp);
    levels.bubble = pipeline_equal_makespan(&model->pipeline, levels.cp, parallel->microbatches);
    *ret_levels = levels;
}

void step_levels_add(struct step_levels *sum, const struct step_levels *levels)
{
    sum->work += levels->work;
    sum->cp += levels->cp;
    sum->bubble += levels->bubble;
    sum->pp += levels->pp;
    sum->dp += levels->dp;
}
