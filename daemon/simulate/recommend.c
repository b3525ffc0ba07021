#include "simulate/recommend.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "simulate/run.h"

/* Documents that all trials together may plan: some seconds on one core. */
#define SAMPLE_DOCUMENTS 4000000
#define SAMPLE_LEAST_STEPS 40
#define SAMPLE_MOST_STEPS 200

/* Speed that one gives away for less delay, and delay for shorter micro-batches, which cost memory.
 */
#define NEGLIGIBLE 0.005
#define NEGLIGIBLE_DELAY 0.05

struct trying {
    const struct config *config;
    const struct corpus *corpus;
    recommend_progress *progress;
    void *context;
    size_t total; /* trials */
    struct simulation plain;
    struct recommendation result;
};

static uint64_t sample_steps(const struct config *config, const struct corpus *corpus,
                             size_t trials)
{
    double documents = (double)(corpus->documents ? corpus->documents : 1);
    double length = (double)corpus->tokens / documents;
    double tokens = (double)config_step_microbatches(config) * config->context_window;
    double a_step = tokens / (length > 1 ? length : 1);
    double steps = SAMPLE_DOCUMENTS / (a_step * (double)trials);
    if (steps > SAMPLE_MOST_STEPS)
        return SAMPLE_MOST_STEPS;
    return steps < SAMPLE_LEAST_STEPS ? SAMPLE_LEAST_STEPS : (uint64_t)steps;
}

static struct trial sum_up(const struct setting *setting, const struct simulation *simulation,
                           const struct simulation *plain)
{
    const struct tally *tally = &simulation->tally;
    return (struct trial){ .setting = *setting,
                           .gain = simulation_equal_work_speedup(simulation, plain),
                           .speedup = simulation_speedup(simulation, plain),
                           .imbalance = tally_imbalance(tally),
                           .makespan_ratio = tally_makespan_ratio(tally),
                           .delay = tally_delay(tally),
                           .busiest_over_ideal = tally_busiest_cp_rank(tally),
                           .delay_max = tally->delay_max,
                           .longest = tally->longest };
}

static int run_setting(const struct trying *trying, const struct setting *setting,
                       struct simulation *ret_simulation, struct error *err)
{
    struct setting own = *setting;
    struct config config = setting_apply(trying->config, &own);
    struct simulate_options options = { .steps = trying->result.steps };
    return simulate_run(&config, trying->corpus, &options, ret_simulation, err);
}

static int try_setting(struct trying *trying, const struct setting *setting, struct error *err)
{
    struct recommendation *result = &trying->result;
    struct simulation simulation;
    if (trying->progress)
        trying->progress(trying->context, result->count + 1, trying->total);
    if (!grow(result->trials, &result->capacity, result->count + 1))
        return error_memory(err, "trying settings");
    int status = run_setting(trying, setting, &simulation, err);
    if (status)
        return status;
    result->trials[result->count++] = sum_up(setting, &simulation, &trying->plain);
    simulation_fini(&simulation);
    return 0;
}

static int try_plain(struct trying *trying, struct error *err)
{
    struct setting setting = { .policy = "plain",
                               .sharding = CP_PER_SEQUENCE,
                               .max_sequence_length = trying->config->context_window };
    int status = run_setting(trying, &setting, &trying->plain, err);
    if (status == 0)
        trying->result.plain = sum_up(&setting, &trying->plain, &trying->plain);
    return status;
}

static double fastest(const struct recommendation *result)
{
    double gain = 0;
    for (size_t i = 0; i < result->count; i++)
        gain = result->trials[i].gain > gain ? result->trials[i].gain : gain;
    return gain;
}

static double least_delay(const struct recommendation *result, double gain)
{
    double delay = INFINITY;
    for (size_t i = 0; i < result->count; i++)
        if (result->trials[i].gain >= gain && result->trials[i].delay < delay)
            delay = result->trials[i].delay;
    return delay;
}

/* The shorter micro-batches; of equal ones the less delay. */
static bool cheaper(const struct trial *a, const struct trial *b)
{
    if (a->setting.max_sequence_length != b->setting.max_sequence_length)
        return a->setting.max_sequence_length < b->setting.max_sequence_length;
    return a->delay < b->delay;
}

/*
 * Of those about as fast as the fastest, and of these about as prompt as the promptest, the one
 * that needs the least memory.
 */
static size_t choose_packing(const struct recommendation *result)
{
    double gain = fastest(result) * (1 - NEGLIGIBLE);
    double delay = least_delay(result, gain) + NEGLIGIBLE_DELAY;
    size_t best = result->count;
    for (size_t i = 0; i < result->count; i++) {
        const struct trial *trial = &result->trials[i];
        if (trial->gain < gain || trial->delay > delay)
            continue;
        if (best == result->count || cheaper(trial, &result->trials[best]))
            best = i;
    }
    return best;
}

static int try_packings(struct trying *trying, const struct settings *settings, struct error *err)
{
    int status = try_plain(trying, err);
    for (size_t i = 0; i < settings->count && !status; i++)
        status = try_setting(trying, &settings->items[i], err);
    if (status)
        return status;
    trying->result.packings = trying->result.count;
    trying->result.packing = choose_packing(&trying->result);
    trying->result.best = trying->result.packing;
    return 0;
}

/* The other shardings, on the packing that was chosen; the fastest wins, and stays if none is. */
static int try_shardings(struct trying *trying, struct error *err)
{
    struct recommendation *result = &trying->result;
    if (result->count == 0)
        return 0;
    struct setting setting = result->trials[result->best].setting;
    enum cp_strategy tried = setting.sharding;
    for (int strategy = 0; strategy < CP_STRATEGY_COUNT; strategy++) {
        if ((enum cp_strategy)strategy == tried)
            continue;
        setting.sharding = (enum cp_strategy)strategy;
        int status = try_setting(trying, &setting, err);
        if (status)
            return status;
        if (result->trials[result->count - 1].gain > result->trials[result->best].gain)
            result->best = result->count - 1;
    }
    return 0;
}

static int try_all(struct trying *trying, struct error *err)
{
    struct settings settings = { 0 };
    bool one_rank = trying->config->parallel.cp == 1;
    int status = settings_of_packing(trying->config, CP_ADAPTIVE, &settings, err);
    trying->total = settings.count + (one_rank ? 0 : CP_STRATEGY_COUNT - 1);
    trying->result.steps = sample_steps(trying->config, trying->corpus, trying->total);
    if (status == 0)
        status = try_packings(trying, &settings, err);
    if (status == 0 && !one_rank)
        status = try_shardings(trying, err);
    free(settings.items);
    return status;
}

int recommend(const struct config *config, const struct corpus *corpus,
              recommend_progress *progress, void *context, struct recommendation *ret,
              struct error *err)
{
    struct trying trying = {
        .config = config, .corpus = corpus, .progress = progress, .context = context
    };
    int status = try_all(&trying, err);
    simulation_fini(&trying.plain);
    if (status)
        recommendation_fini(&trying.result);
    else
        *ret = trying.result;
    return status;
}

void recommendation_fini(struct recommendation *recommendation)
{
    free(recommendation->trials);
    *recommendation = (struct recommendation){ 0 };
}
