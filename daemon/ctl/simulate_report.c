#include "ctl/simulate_report.h"

#include <inttypes.h>

#include "ctl/human.h"
#include "ctl/json_line.h"
#include "ctl/table.h"

/* The figures that are percentiles, worked out once a variant. */
struct percentiles {
    double imbalance, pack_us, step_time;
};

static int find_percentiles(const struct simulation *simulation, struct percentiles *ret,
                            struct error *err)
{
    int status = series_percentile(&simulation->imbalance, 99, &ret->imbalance, err);
    if (status == 0)
        status = series_percentile(&simulation->pack_us, 99, &ret->pack_us, err);
    return status ? status : series_percentile(&simulation->step_time, 99, &ret->step_time, err);
}

static const struct simulation *baseline_of(const struct variants *variants)
{
    return &variants->items[0].simulation;
}

/* Means over the steps, each level holding those before it. */
static json_t *levels_json(const struct simulation *simulation)
{
    const struct step_levels *sum = &simulation->levels;
    double steps = (double)simulation->tally.steps;
    return json_pack("{sf sf sf sf sf}", "work", sum->work / steps, "cp", sum->cp / steps, "bubble",
                     sum->bubble / steps, "pp", sum->pp / steps, "dp", sum->dp / steps);
}

static json_t *variant_json(const struct variant *variant, const struct simulation *baseline,
                            const struct percentiles *p99)
{
    const struct simulation *simulation = &variant->simulation;
    const struct tally *tally = &simulation->tally;
    return json_pack(
        "{ss ss sI sI sI sf s{sf sf sf} sf s{sf sI} sI s{sf sf} s{sf} s{sf sf} so sf sf sf ss}",
        "policy", variant_policy(variant), "sharding", variant_sharding(variant), "steps",
        (json_int_t)tally->steps, "documents", (json_int_t)simulation->documents, "tokens",
        (json_int_t)tally->tokens, "documents_per_second",
        simulation_documents_per_second(simulation), "imbalance", "mean", tally_imbalance(tally),
        "p99", p99->imbalance, "max", tally->imbalance_max, "makespan_ratio",
        tally_makespan_ratio(tally), "delay", "mean", tally_delay(tally), "max",
        (json_int_t)tally->delay_max, "longest", (json_int_t)tally->longest, "pack_us", "mean",
        series_mean(&simulation->pack_us), "p99", p99->pack_us, "cp", "busiest_over_ideal",
        tally_busiest_cp_rank(tally), "step_time", "mean", series_mean(&simulation->step_time),
        "p99", p99->step_time, "levels", levels_json(simulation), "speedup",
        simulation_speedup(simulation, baseline), "equal_work_speedup",
        simulation_equal_work_speedup(simulation, baseline), "crossover_tokens",
        simulation->crossover_tokens, "unit", simulation->unit);
}

int simulate_report_json(const struct variants *variants, struct output *out, struct error *err)
{
    for (size_t i = 0; i < variants->count; i++) {
        struct percentiles p99;
        int status = find_percentiles(&variants->items[i].simulation, &p99, err);
        if (status == 0)
            status =
                json_line(out, variant_json(&variants->items[i], baseline_of(variants), &p99), err);
        if (status)
            return status;
    }
    return 0;
}

static const struct column fact_columns[] = { { NULL, ALIGN_LEFT, 0 }, { NULL, ALIGN_LEFT, 0 } };

static void describe_steps(const struct variants *variants, struct table *facts)
{
    const struct simulation *baseline = baseline_of(variants);
    table_cell(facts, "steps");
    table_cell(facts, "%" PRIu64 " counted, after %d that warm up%s", baseline->tally.steps,
               SIMULATE_WARM_UP, baseline->ended ? "; then the data ends" : "");
}

static int print_facts(const struct variants *variants, const struct corpus *corpus,
                       struct output *out, struct error *err)
{
    const struct config *job = variants->job;
    const struct simulation *baseline = baseline_of(variants);
    const struct parallel *parallel = &job->parallel;
    struct table *facts = table_new(fact_columns, 2);
    char first[HUMAN_BYTES], second[HUMAN_BYTES];
    table_cell(facts, "corpus");
    table_cell(facts, "%s documents, %s tokens", human_count(corpus->documents, first),
               human_count(corpus->tokens, second));
    table_cell(facts, "layout");
    table_cell(facts,
               "tp %" PRIu32 ", cp %" PRIu32 ", pp %" PRIu32 ", dp %" PRIu32 " x %" PRIu32
               " micro-batches of %s tokens, at most %s",
               parallel->tp, parallel->cp, parallel->pp, parallel->dp, parallel->microbatches,
               human_count(job->context_window, first),
               human_count(job->max_sequence_length, second));
    describe_steps(variants, facts);
    table_cell(facts, "crossover");
    table_cell(facts, "B = %s tokens: there attention costs as much as the rest; times in %s",
               human_count((uint64_t)(baseline->crossover_tokens + 0.5), first), baseline->unit);
    int status = table_print(facts, out, err);
    table_free(facts);
    output_print(out, "\n");
    return status;
}

static const struct column variant_columns[] = {
    { "policy", ALIGN_LEFT, 0 },      { "sharding", ALIGN_LEFT, 0 },
    { "imbalance", ALIGN_RIGHT, 0 },  { "p99", ALIGN_RIGHT, 0 },
    { "max", ALIGN_RIGHT, 0 },        { "makespan", ALIGN_RIGHT, 0 },
    { "delay", ALIGN_RIGHT, 0 },      { "max", ALIGN_RIGHT, 0 },
    { "longest", ALIGN_RIGHT, 0 },    { "CP", ALIGN_RIGHT, 0 },
    { "pack us", ALIGN_RIGHT, 0 },    { "speed-up", ALIGN_RIGHT, 0 },
    { "equal work", ALIGN_RIGHT, 0 },
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static int add_variant(struct table *table, const struct variant *variant,
                       const struct simulation *baseline, struct error *err)
{
    const struct simulation *simulation = &variant->simulation;
    const struct tally *tally = &simulation->tally;
    struct percentiles p99;
    int status = find_percentiles(simulation, &p99, err);
    if (status)
        return status;
    char text[HUMAN_BYTES];
    double speedup = simulation_equal_work_speedup(simulation, baseline);
    table_cell(table, "%s", variant_policy(variant));
    table_cell(table, "%s", variant_sharding(variant));
    table_cell(table, "%.4f", tally_imbalance(tally));
    table_cell(table, "%.4f", p99.imbalance);
    table_cell(table, "%.4f", tally->imbalance_max);
    table_cell(table, "%.4f", tally_makespan_ratio(tally));
    table_cell(table, "%.2f", tally_delay(tally));
    table_cell(table, "%" PRIu64, tally->delay_max);
    table_cell(table, "%s", human_count(tally->longest, text));
    table_cell(table, "%.3f", tally_busiest_cp_rank(tally));
    table_cell(table, "%.1f", series_mean(&simulation->pack_us));
    table_cell(table, "%.3f", simulation_speedup(simulation, baseline));
    table_styled(table, speedup > 1.005 ? STYLE_GOOD : STYLE_PLAIN, "%.3f", speedup);
    return 0;
}

static int print_variants(const struct variants *variants, struct output *out, struct error *err)
{
    struct table *table = table_new(variant_columns, COUNT(variant_columns));
    int status = 0;
    for (size_t i = 0; i < variants->count && !status; i++)
        status = add_variant(table, &variants->items[i], baseline_of(variants), err);
    if (status == 0)
        status = table_print(table, out, err);
    table_free(table);
    return status;
}

static const struct column level_columns[] = {
    { "policy", ALIGN_LEFT, 0 },        { "sharding", ALIGN_LEFT, 0 },
    { "work a token", ALIGN_RIGHT, 0 }, { "+ CP", ALIGN_RIGHT, 0 },
    { "+ bubble", ALIGN_RIGHT, 0 },     { "+ PP", ALIGN_RIGHT, 0 },
    { "+ DP = step", ALIGN_RIGHT, 0 },
};

/* A level in multiples of the work, and what it multiplies the level before by. */
static void add_level(struct table *table, double level, double before, double work)
{
    table_cell(table, "%.3f (x%.3f)", work > 0 ? level / work : 1, before > 0 ? level / before : 1);
}

static double work_per_token(const struct simulation *simulation)
{
    return simulation->levels.work / (double)simulation->tally.tokens;
}

static int print_levels(const struct variants *variants, struct output *out, struct error *err)
{
    struct table *table = table_new(level_columns, COUNT(level_columns));
    double even = work_per_token(baseline_of(variants));
    for (size_t i = 0; i < variants->count; i++) {
        const struct simulation *simulation = &variants->items[i].simulation;
        const struct step_levels *sum = &simulation->levels;
        table_cell(table, "%s", variant_policy(&variants->items[i]));
        table_cell(table, "%s", variant_sharding(&variants->items[i]));
        table_cell(table, "%.3f", work_per_token(simulation) / even);
        add_level(table, sum->cp, sum->work, sum->work);
        add_level(table, sum->bubble, sum->cp, sum->work);
        add_level(table, sum->pp, sum->bubble, sum->work);
        add_level(table, sum->dp, sum->pp, sum->work);
    }
    output_print(out,
                 "\nPredicted time of a step, level by level, in multiples of its work divided "
                 "evenly\n(plain cuts documents at windows, which takes attention away):\n");
    int status = table_print(table, out, err);
    table_free(table);
    return status;
}

int simulate_report_text(const struct variants *variants, const struct corpus *corpus,
                         struct output *out, struct error *err)
{
    int status = print_facts(variants, corpus, out, err);
    if (status == 0)
        status = print_variants(variants, out, err);
    if (status == 0)
        status = print_levels(variants, out, err);
    return status ? status : output_flush(out, err);
}
