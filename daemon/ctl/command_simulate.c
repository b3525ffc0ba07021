/* ballastctl simulate: policies and shardings side by side on the same data. */
#include <inttypes.h>

#include "ctl/arguments.h"
#include "ctl/bad_shards.h"
#include "ctl/clock.h"
#include "ctl/progress.h"
#include "ctl/simulate_plot.h"
#include "ctl/simulate_report.h"
#include "ctl/simulate_variants.h"
#include "simulate/recommend.h"

#define DEFAULT_STEPS 400
#define MOST_STEPS 100000000
#define BAR_CELLS 24

/* Everything that the command holds, opened in this order and closed in the reverse. */
struct simulating {
    struct variants variants;
    struct config *roomy; /* the job as --recommend takes it */
    struct corpus *corpus;
    struct progress progress;
    uint64_t steps;
    size_t current; /* variant */
    struct recommendation recommendation;
    bool json, recommends;
    const char *plot; /* path, or NULL */
};

static void draw_bar(double part, char bar[BAR_CELLS + 1])
{
    for (int i = 0; i < BAR_CELLS; i++)
        bar[i] = (double)i < part * BAR_CELLS ? '#' : ' ';
    bar[BAR_CELLS] = '\0';
}

/* "[######      ]  52 %" of the whole, and which variant it is at. */
static void show_progress(void *context, uint64_t steps_done)
{
    struct simulating *simulating = context;
    if (!progress_due(&simulating->progress))
        return;
    const struct variant *variant = &simulating->variants.items[simulating->current];
    double of_variant = (double)steps_done / (double)(simulating->steps + SIMULATE_WARM_UP);
    double part = ((double)simulating->current + of_variant) / (double)simulating->variants.count;
    char bar[BAR_CELLS + 1];
    draw_bar(part, bar);
    progress_show(&simulating->progress, "[%s] %3.0f %%  %s, %s: step %" PRIu64, bar, 100 * part,
                  variant_policy(variant), variant_sharding(variant), steps_done);
}

static int simulate_variants(struct simulating *simulating, struct error *err)
{
    struct simulate_options options = { .steps = simulating->steps,
                                        .now_ns = clock_ns,
                                        .progress = show_progress,
                                        .context = simulating };
    int status = 0;
    for (size_t i = 0; i < simulating->variants.count && !status; i++) {
        struct variant *variant = &simulating->variants.items[i];
        simulating->current = i;
        status =
            simulate_run(variant->config, simulating->corpus, &options, &variant->simulation, err);
    }
    progress_clear(&simulating->progress);
    return status;
}

static void show_trial(void *context, size_t done, size_t total)
{
    struct simulating *simulating = context;
    if (!progress_due(&simulating->progress))
        return;
    double part = (double)done / (double)total;
    char bar[BAR_CELLS + 1];
    draw_bar(part, bar);
    progress_show(&simulating->progress, "[%s] %3.0f %%  trying setting %zu of %zu", bar,
                  100 * part, done, total);
}

static int try_settings(struct simulating *simulating, struct error *err)
{
    int status = recommend(simulating->roomy, simulating->corpus, show_trial, simulating,
                           &simulating->recommendation, err);
    progress_clear(&simulating->progress);
    return status;
}

static int simulating_open(struct simulating *simulating, const struct arguments *arguments,
                           struct error *err)
{
    int status = variants_load(&simulating->variants, arguments, err);
    if (status == 0 && simulating->recommends)
        status = variants_load_roomy(arguments, &simulating->roomy, err);
    if (status)
        return status;
    const struct config *job = simulating->variants.job;
    status = corpus_open(job->sources, job->source_count, job->vocab_size, progress_corpus,
                         &simulating->progress, &simulating->corpus, err);
    progress_clear(&simulating->progress);
    if (status == 0)
        bad_shards_tell(simulating->corpus, &simulating->progress);
    return status;
}

static void simulating_close(struct simulating *simulating)
{
    recommendation_fini(&simulating->recommendation);
    corpus_close(simulating->corpus);
    config_free(simulating->roomy);
    variants_fini(&simulating->variants);
}

static int report_json(const struct simulating *simulating, struct output *out, struct error *err)
{
    int status = simulate_report_json(&simulating->variants, out, err);
    if (status == 0 && simulating->recommends)
        status = simulate_recommend_json(&simulating->recommendation, simulating->roomy, out, err);
    return status;
}

static int report_text(const struct simulating *simulating, struct output *out, struct error *err)
{
    int status = simulate_report_text(&simulating->variants, simulating->corpus, out, err);
    if (status == 0 && simulating->recommends)
        status = simulate_recommend_text(&simulating->recommendation, simulating->roomy, out, err);
    return status;
}

static int simulate_and_report(struct simulating *simulating, struct output *out, struct error *err)
{
    int status = simulate_variants(simulating, err);
    if (status == 0 && simulating->recommends)
        status = try_settings(simulating, err);
    if (status == 0 && simulating->plot)
        status = simulate_plot(&simulating->variants,
                               simulating->recommends ? &simulating->recommendation : NULL,
                               simulating->plot, err);
    if (status)
        return status;
    return simulating->json ? report_json(simulating, out, err) : report_text(simulating, out, err);
}

int run_simulate(const struct arguments *arguments, struct output *out, struct error *err)
{
    struct simulating simulating = {
        .steps = argument_number(arguments, OPTION_STEPS, DEFAULT_STEPS),
        .json = argument_given(arguments, OPTION_JSON),
        .recommends = argument_given(arguments, OPTION_RECOMMEND),
        .plot = argument_text(arguments, OPTION_PLOT, NULL),
    };
    if (simulating.steps == 0 || simulating.steps > MOST_STEPS)
        return error_set(err, EX_USAGE, "--steps: found %" PRIu64 ", expected 1 to %d",
                         simulating.steps, MOST_STEPS);
    progress_init(&simulating.progress);
    int status = simulating_open(&simulating, arguments, err);
    if (status == 0)
        status = simulate_and_report(&simulating, out, err);
    progress_clear(&simulating.progress);
    simulating_close(&simulating);
    return status;
}
