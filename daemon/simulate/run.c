#include "simulate/run.h"

#include "plan/plan.h"

struct run {
    const struct simulate_options *options;
    struct planner *planner;
    struct step_plan plan;
    struct level_model model;
    uint64_t pack_began_ns, pack_ns; /* of the step that is being planned */
    struct simulation result;
};

static uint64_t now(const struct run *run)
{
    return run->options->now_ns ? run->options->now_ns() : 0;
}

static void watch_packing(void *context, bool begins)
{
    struct run *run = context;
    if (begins)
        run->pack_began_ns = now(run);
    else
        run->pack_ns = now(run) - run->pack_began_ns;
}

static int run_open(struct run *run, const struct config *config, const struct corpus *corpus,
                    struct error *err)
{
    int status = level_model_init(&run->model, config, err);
    if (status == 0)
        status = planner_new(config, corpus, &run->planner, err);
    if (status)
        return status;
    planner_watch(run->planner, watch_packing, run);
    run->result.microbatches = config_step_microbatches(config);
    run->result.crossover_tokens = run->model.cost.crossover_tokens;
    run->result.unit = run->model.cost.unit;
    return 0;
}

static void run_close(struct run *run)
{
    step_plan_fini(&run->plan);
    planner_free(run->planner);
    level_model_fini(&run->model);
}

static uint64_t documents_ended(const struct step_plan *plan)
{
    uint64_t ended = 0;
    for (size_t i = 0; i < plan->piece_count; i++)
        ended += (plan->pieces[i].flags & PIECE_ENDS_DOCUMENT) != 0;
    return ended;
}

static int keep_for_drawing(struct simulation *result, const struct step_plan *plan,
                            struct error *err)
{
    size_t room = SIMULATE_DRAWN_MICROBATCHES - result->drawn.count;
    if (result->tally.steps > SIMULATE_DRAWN_STEPS || plan->microbatch_count > room)
        return 0;
    int status = 0;
    for (uint32_t m = 0; m < plan->microbatch_count && !status; m++)
        status = series_add(&result->drawn, (double)plan->microbatches[m].workload, err);
    return status;
}

static int count_step(struct run *run, uint64_t took_ns, struct error *err)
{
    struct simulation *result = &run->result;
    const struct step_plan *plan = &run->plan;
    struct step_levels levels;
    level_model_step(&run->model, plan, &levels);
    step_levels_add(&result->levels, &levels);
    tally_add(&result->tally, plan);
    result->documents += documents_ended(plan);
    result->seconds += (double)took_ns / 1e9;
    int status = series_add(&result->imbalance, step_plan_imbalance(plan), err);
    if (status == 0)
        status = series_add(&result->pack_us, (double)run->pack_ns / 1e3, err);
    if (status == 0)
        status = series_add(&result->step_time, levels.dp, err);
    return status ? status : keep_for_drawing(result, plan, err);
}

/* Plans to the last step or the end of data. */
static int run_steps(struct run *run, struct error *err)
{
    const struct simulate_options *options = run->options;
    while (run->result.tally.steps < options->steps) {
        uint64_t began = now(run);
        switch (planner_step(run->planner, &run->plan, err)) {
        case PLANNER_ERROR:
            return err->code;
        case PLANNER_END:
            run->result.ended = true;
            return 0;
        case PLANNER_STEP:
            break;
        }
        uint64_t took = now(run) - began;
        int status = run->plan.step < SIMULATE_WARM_UP ? 0 : count_step(run, took, err);
        if (status)
            return status;
        if (options->progress)
            options->progress(options->context, run->plan.step + 1);
    }
    return 0;
}

int simulate_run(const struct config *config, const struct corpus *corpus,
                 const struct simulate_options *options, struct simulation *ret_simulation,
                 struct error *err)
{
    struct run run = { .options = options };
    int status = run_open(&run, config, corpus, err);
    if (status == 0)
        status = run_steps(&run, err);
    if (status == 0 && run.result.tally.steps == 0)
        status = error_set(err, EX_USAGE,
                           "%s: the data ends after %llu steps, and the first %d only warm up: "
                           "let sources repeat (epochs: repeat), or make steps smaller",
                           config->packing.policy,
                           (unsigned long long)planner_next_step(run.planner), SIMULATE_WARM_UP);
    run_close(&run);
    if (status)
        simulation_fini(&run.result);
    else
        *ret_simulation = run.result;
    return status;
}

void simulation_fini(struct simulation *simulation)
{
    series_fini(&simulation->imbalance);
    series_fini(&simulation->pack_us);
    series_fini(&simulation->step_time);
    series_fini(&simulation->drawn);
}

double simulation_token_time(const struct simulation *simulation)
{
    uint64_t tokens = simulation->tally.tokens;
    return tokens ? simulation->levels.dp / (double)tokens : 0;
}

double simulation_speedup(const struct simulation *simulation, const struct simulation *baseline)
{
    double time = simulation_token_time(simulation);
    return time > 0 ? simulation_token_time(baseline) / time : 1;
}

/* Time of the steps over that of their work divided evenly. */
static double overhead(const struct simulation *simulation)
{
    double work = simulation->levels.work;
    return work > 0 ? simulation->levels.dp / work : 1;
}

double simulation_equal_work_speedup(const struct simulation *simulation,
                                     const struct simulation *baseline)
{
    return overhead(baseline) / overhead(simulation);
}

double simulation_documents_per_second(const struct simulation *simulation)
{
    return simulation->seconds > 0 ? (double)simulation->documents / simulation->seconds : 0;
}
