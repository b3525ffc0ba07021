#include <criterion/criterion.h>

#include "simulate/levels.h"

#define DP 2
#define SLOTS 2

/* B = 1024 with 1024 units a token: W(d) = 1024 d + d^2, so 1 per squared token, 2 per pair. */
static const struct config job = {
    .parallel = { .dp = DP, .pp = 2, .cp = 2, .tp = 1, .microbatches = SLOTS },
    .cost = { .crossover_tokens = 1024 },
};

struct step {
    struct plan_microbatch microbatches[DP * SLOTS];
    struct cp_rank ranks[DP * SLOTS * 2];
    struct step_plan plan;
};

/* Every micro-batch one piece of 1000 tokens in two even halves of its 500,000 pairs. */
static void even_step(struct step *step)
{
    *step = (struct step){ .plan = { .microbatch_count = DP * SLOTS, .rank_count = 2 } };
    step->plan.microbatches = step->microbatches;
    step->plan.ranks = step->ranks;
    for (uint32_t m = 0; m < DP * SLOTS; m++) {
        step->microbatches[m] = (struct plan_microbatch){ .tokens = 1000,
                                                          .padded_tokens = 500,
                                                          .workload = 1024 * 1000 + 1000 * 1000 };
        step->ranks[2 * m].attention = step->ranks[2 * m + 1].attention = 250000;
    }
}

static struct step_levels levels_of(const struct step *step)
{
    struct level_model model;
    struct step_levels levels;
    cr_assert_eq(level_model_init(&model, &job, NULL), 0);
    level_model_step(&model, &step->plan, &levels);
    level_model_fini(&model);
    return levels;
}

/* Of one micro-batch on one stage, when its busiest rank has that many pairs. */
static double stage_time(double pairs)
{
    return (2 * pairs + 1024 * 500) / 2;
}

Test(levels, in_balance_only_the_bubble_is_lost)
{
    struct step step;
    even_step(&step);
    struct step_levels levels = levels_of(&step);
    double even = SLOTS * stage_time(250000);
    cr_assert_float_eq(levels.work, even, 1);
    cr_assert_float_eq(levels.cp, even, 1);
    cr_assert_float_eq(levels.bubble, even * 3 / 2, 1); /* (m + p - 1) / m */
    cr_assert_float_eq(levels.pp, levels.bubble, 1);
    cr_assert_float_eq(levels.dp, levels.bubble, 1);
}

Test(levels, a_busy_rank_goes_through_every_level)
{
    struct step step;
    even_step(&step);
    step.ranks[2 * 3].attention = 400000; /* replica 1, slot 1 */
    struct step_levels levels = levels_of(&step);
    double even = SLOTS * stage_time(250000), extra = stage_time(400000) - stage_time(250000);
    cr_assert_float_eq(levels.work, even, 1, "work does not see who does it");
    cr_assert_float_eq(levels.cp, even + extra / DP, 1);
    cr_assert_float_eq(levels.bubble, levels.cp * 3 / 2, 1);
    cr_assert(levels.pp > levels.bubble);
    /* Replica 0 is in balance; the slow one, 2 stages: everything of the long one last. */
    cr_assert_float_eq(levels.pp, (even * 3 / 2 + levels.dp) / 2, 1);
    cr_assert(levels.dp > levels.pp);
    struct pipeline pipeline;
    const double times[] = { stage_time(250000), stage_time(400000) };
    cr_assert_eq(pipeline_init(&pipeline, 2, NULL), 0);
    cr_assert_float_eq(levels.dp, pipeline_makespan(&pipeline, times, 2), 1);
    pipeline_fini(&pipeline);
}

Test(levels, padding_is_work_of_every_rank)
{
    struct step step;
    even_step(&step);
    for (uint32_t m = 0; m < DP * SLOTS; m++)
        step.microbatches[m].padded_tokens = 512;
    struct step_levels levels = levels_of(&step);
    cr_assert_float_eq(levels.cp - levels.work, SLOTS * 1024.0 * 12 / 2, 1);
}

Test(levels, sums)
{
    struct step_levels sum = { 1, 2, 3, 4, 5 }, more = { 10, 20, 30, 40, 50 };
    step_levels_add(&sum, &more);
    cr_assert_float_eq(sum.work, 11, 0);
    cr_assert_float_eq(sum.cp, 22, 0);
    cr_assert_float_eq(sum.bubble, 33, 0);
    cr_assert_float_eq(sum.pp, 44, 0);
    cr_assert_float_eq(sum.dp, 55, 0);
}

Test(levels, costs_that_are_missing_are_refused)
{
    struct config none = job;
    none.cost = (struct cost_options){ 0 };
    struct level_model model;
    struct error err = { 0 };
    cr_assert_eq(level_model_init(&model, &none, &err), EX_CONFIG);
    level_model_fini(&model);
}
