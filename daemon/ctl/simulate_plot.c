#include "ctl/simulate_plot.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/atomic_file.h"
#include "ctl/human.h"
#include "simulate/plot.h"

struct curves {
    struct plot_curve items[PLOT_MOST_CURVES];
    size_t count;
};

/* The policy's curve, a new one if need be; NULL when there is no room for another. */
static struct plot_curve *curve_of(struct curves *curves, const char *policy)
{
    for (size_t i = 0; i < curves->count; i++)
        if (!strcmp(curves->items[i].label, policy))
            return &curves->items[i];
    if (curves->count == PLOT_MOST_CURVES)
        return NULL;
    struct plot_curve *curve = &curves->items[curves->count++];
    snprintf(curve->label, sizeof curve->label, "%s", policy);
    return curve;
}

/* Which of the curves it is; the last where there was no room for its own. */
static unsigned hue_of(const struct curves *curves, const char *policy)
{
    unsigned hue = 0;
    while (hue + 1 < curves->count && strcmp(curves->items[hue].label, policy) != 0)
        hue++;
    return hue;
}

static void add_point(struct curves *curves, const char *policy, double delay, double makespan)
{
    struct plot_curve *curve = curve_of(curves, policy);
    if (curve && curve->count < PLOT_MOST_POINTS)
        curve->points[curve->count++] = (struct plot_point){ delay, makespan - 1 };
}

static void add_variants(struct curves *curves, const struct variants *variants)
{
    for (size_t i = 0; i < variants->count; i++) {
        const struct tally *tally = &variants->items[i].simulation.tally;
        add_point(curves, variant_policy(&variants->items[i]), tally_delay(tally),
                  tally_makespan_ratio(tally));
    }
}

/* Packings only: sharding changes neither figure. Of every length of micro-batches that was tried,
 * the longest. */
static void add_trials(struct curves *curves, const struct recommendation *recommendation)
{
    uint32_t most = 0;
    for (size_t i = 0; i < recommendation->packings; i++) {
        uint32_t length = recommendation->trials[i].setting.max_sequence_length;
        most = length > most ? length : most;
    }
    for (size_t i = 0; i < recommendation->packings; i++) {
        const struct trial *trial = &recommendation->trials[i];
        if (trial->setting.max_sequence_length == most)
            add_point(curves, trial->setting.policy, trial->delay, trial->makespan_ratio);
    }
}

static const struct variant *fastest(const struct variants *variants)
{
    const struct variant *best = &variants->items[0];
    for (size_t i = 1; i < variants->count; i++)
        if (simulation_equal_work_speedup(&variants->items[i].simulation, &best->simulation) > 1)
            best = &variants->items[i];
    return best;
}

static void name_variant(const struct variant *variant, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s, %s", variant_policy(variant), variant_sharding(variant));
}

static void describe(const struct variants *variants, const struct variant *best, char *text,
                     size_t bytes)
{
    const struct config *job = variants->job;
    const struct simulation *baseline = &variants->items[0].simulation;
    char window[HUMAN_BYTES], most[HUMAN_BYTES], crossover[HUMAN_BYTES];
    snprintf(text, bytes,
             "predicted speed-up %.2f, at equal work %.2f; cp %" PRIu32 ", pp %" PRIu32
             ", dp %" PRIu32 " x %" PRIu32
             " micro-batches of %s tokens, at most %s; B = %s tokens; %" PRIu64 " steps",
             simulation_speedup(&best->simulation, baseline),
             simulation_equal_work_speedup(&best->simulation, baseline), job->parallel.cp,
             job->parallel.pp, job->parallel.dp, job->parallel.microbatches,
             human_count(job->context_window, window), human_count(job->max_sequence_length, most),
             human_count((uint64_t)(baseline->crossover_tokens + 0.5), crossover),
             baseline->tally.steps);
}

int simulate_plot(const struct variants *variants, const struct recommendation *recommendation,
                  const char *path, struct error *err)
{
    struct curves curves = { .count = 0 };
    const struct variant *best = fastest(variants);
    char title[128], subtitle[256], before[96], after[96];
    add_variants(&curves, variants);
    if (recommendation)
        add_trials(&curves, recommendation);
    snprintf(title, sizeof title, "Balance of work: %s", variants->job->job);
    describe(variants, best, subtitle, sizeof subtitle);
    name_variant(&variants->items[0], before, sizeof before);
    name_variant(best, after, sizeof after);
    struct plot plot = { .title = title,
                         .subtitle = subtitle,
                         .before = &variants->items[0].simulation,
                         .after = &best->simulation,
                         .before_name = before,
                         .after_name = after,
                         .before_hue = hue_of(&curves, variant_policy(&variants->items[0])),
                         .after_hue = hue_of(&curves, variant_policy(best)),
                         .curves = curves.items,
                         .curve_count = curves.count };
    char *text = NULL;
    size_t bytes = 0;
    int status = plot_draw(&plot, &text, &bytes, err);
    if (status == 0)
        status = atomic_file_write(path, text, bytes, err);
    free(text);
    return status;
}
