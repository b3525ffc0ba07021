#include "ctl/plan_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json_text.h"
#include "ctl/json_line.h"

/* As many digits of a digest as a person compares by eye. */
#define DIGEST_PREFIX 12

static unsigned count_width(uint64_t count)
{
    char text[HUMAN_BYTES];
    return (unsigned)strlen(human_count(count, text));
}

/* Rows appear as they are planned, so the widths must be known before. */
static void fill_columns(struct plan_report *report, uint64_t last)
{
    const struct config *config = report->config;
    uint64_t microbatches = config_step_microbatches(config);
    unsigned tokens = count_width(microbatches * config->max_sequence_length);
    const struct column columns[PLAN_REPORT_COLUMNS] = {
        { "step", ALIGN_RIGHT, last < 1000000 ? (unsigned)snprintf(NULL, 0, "%" PRIu64, last) : 6 },
        { "tokens", ALIGN_RIGHT, tokens },
        { "imbalance", ALIGN_RIGHT, 0 },
        { "longest", ALIGN_RIGHT, count_width(config->max_sequence_length) },
        { "waiting", ALIGN_RIGHT, tokens },
        { "busiest CP rank", ALIGN_RIGHT, 0 },
        { "digest", ALIGN_LEFT, DIGEST_PREFIX },
    };
    memcpy(report->columns, columns, sizeof columns);
}

int plan_report_init(struct plan_report *report, const struct config *config, uint64_t first,
                     uint64_t last, struct error *err)
{
    *report = (struct plan_report){ .config = config, .first = first };
    struct cost_model cost;
    int code = cost_model_init(&cost, &config->cost, err);
    if (code)
        return code;
    report->crossover_tokens = cost.crossover_tokens;
    fill_columns(report, last);
    report->table = table_new(report->columns, PLAN_REPORT_COLUMNS);
    return report->table ? 0 : error_memory(err, "laying out a table");
}

void plan_report_fini(struct plan_report *report)
{
    table_free(report->table);
}

void plan_report_add(struct plan_report *report, const struct step_plan *plan)
{
    tally_add(&report->tally, plan);
    report->digest = plan->digest;
}

void plan_report_policy(struct plan_report *report, const struct planner *planner)
{
    const void *state;
    const struct pack_policy *policy = planner_policy(planner, &state);
    report->thresholds = planner_auto_thresholds(planner);
    if (policy->facts)
        report->fact_count = policy->facts(state, report->facts, PACK_MAX_FACTS);
}

int plan_report_row(struct plan_report *report, const struct step_plan *plan, struct output *out,
                    struct error *err)
{
    struct tally step = { 0 };
    tally_add(&step, plan);
    char text[HUMAN_BYTES], digest[DIGEST_TEXT_BYTES];
    struct table *table = report->table;
    table_cell(table, "%" PRIu64, plan->step);
    table_cell(table, "%s", human_count(plan->tokens, text));
    table_cell(table, "%.4f", step_plan_imbalance(plan));
    table_cell(table, "%s", human_count(step.longest, text));
    table_cell(table, "%s", human_count(plan->waiting.tokens, text));
    table_cell(table, "%.4f", tally_busiest_cp_rank(&step));
    table_styled(table, STYLE_FAINT, "%.*s", DIGEST_PREFIX, digest_text(plan->digest, digest));
    int code = table_print(table, out, err);
    return code ? code : output_flush(out, err);
}

/* "steps 0 to 19", and why there are no more. */
static void describe_steps(const struct plan_report *report, struct table *facts)
{
    const struct tally *tally = &report->tally;
    char text[HUMAN_BYTES];
    table_cell(facts, "steps");
    table_cell(facts, "%" PRIu64 " to %" PRIu64 "%s", report->first,
               report->first + tally->steps - 1, report->ended ? ", the end of the data" : "");
    table_cell(facts, "tokens");
    table_cell(facts, "%s", human_count(tally->tokens, text));
    table_cell(facts, "pieces");
    table_cell(facts, "%s", human_count(tally->pieces, text));
}

static void describe_job(const struct plan_report *report, struct table *facts)
{
    const struct config *config = report->config;
    char window[HUMAN_BYTES], most[HUMAN_BYTES], crossover[HUMAN_BYTES];
    table_cell(facts, "policy");
    table_cell(facts, "%s, sharding %s", config->packing.policy,
               cp_strategy_name(config->sharding.strategy));
    table_cell(facts, "shape");
    table_cell(facts, "dp %" PRIu32 " x %" PRIu32 " micro-batches, cp %" PRIu32 ", S %s, S_max %s",
               config->parallel.dp, config->parallel.microbatches, config->parallel.cp,
               human_count(config->context_window, window),
               human_count(config->max_sequence_length, most));
    table_cell(facts, "crossover");
    table_cell(facts, "B = %s tokens: there attention costs as much as the rest",
               human_count((uint64_t)(report->crossover_tokens + 0.5), crossover));
}

static void describe_balance(const struct plan_report *report, struct table *facts)
{
    const struct tally *tally = &report->tally;
    char text[HUMAN_BYTES];
    table_cell(facts, "imbalance");
    table_cell(facts, "%.4f mean, %.4f at most (busiest micro-batch over the mean)",
               tally_imbalance(tally), tally->imbalance_max);
    table_cell(facts, "makespan ratio");
    table_cell(facts, "%.4f", tally_makespan_ratio(tally));
    table_cell(facts, "delay");
    table_cell(facts, "%.2f steps mean, %" PRIu64 " at most", tally_delay(tally), tally->delay_max);
    table_cell(facts, "longest");
    table_cell(facts, "%s tokens in a micro-batch", human_count(tally->longest, text));
}

static void describe_sharding(const struct plan_report *report, struct table *facts)
{
    const struct tally *tally = &report->tally;
    table_cell(facts, "busiest CP rank");
    if (report->config->sharding.strategy == CP_ADAPTIVE)
        table_cell(facts, "%.4f times the ideal; %.0f %% of micro-batches sharded per document",
                   tally_busiest_cp_rank(tally),
                   100.0 * (double)tally->per_document / (double)tally->microbatches);
    else
        table_cell(facts, "%.4f times the ideal", tally_busiest_cp_rank(tally));
}

/* "gap_mean 0.0012, gap_max 0.0130, nodes 4711". */
static void describe_policy(const struct plan_report *report, struct table *facts)
{
    char text[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < report->fact_count && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %.6g", i ? ", " : "",
                                 report->facts[i].name, report->facts[i].value);
    if (report->fact_count == 0)
        return;
    table_cell(facts, "%s", report->config->packing.policy);
    table_cell(facts, "%s", text);
}

#define TRIALS_SHOWN 8u
#define MILLION 1e6

/* The candidates behind `outlier_thresholds: auto`, the chosen one first. */
static int print_trials(const struct plan_report *report, struct output *out, struct error *err)
{
    const struct auto_thresholds *choice = report->thresholds;
    static const struct column columns[] = { { "outlier thresholds", ALIGN_LEFT, 0 },
                                             { "makespan ratio", ALIGN_RIGHT, 0 },
                                             { "delay", ALIGN_RIGHT, 0 },
                                             { "score", ALIGN_RIGHT, 0 } };
    struct table *table = table_new(columns, 4);
    char text[128];
    if (!table)
        return error_memory(err, "laying out a table");
    for (size_t i = 0; i < choice->trial_count && i < TRIALS_SHOWN; i++) {
        const struct threshold_trial *trial = &choice->trials[i];
        table_cell(table, "%s",
                   threshold_trial_text(trial, report->config->context_window, text, sizeof text));
        table_cell(table, "%.4f", 1 + (double)trial->excess / MILLION);
        table_cell(table, "%.2f", (double)trial->delay / MILLION);
        table_cell(table, "%.4f", (double)trial->score / MILLION);
    }
    output_print(
        out,
        "\noutlier_thresholds: auto chose the first of %zu candidates, by makespan ratio - 1 "
        "+ delay / %d,\non the first %" PRIu64 " steps (%" PRIu64 " pieces):\n",
        choice->trial_count, AUTO_THRESHOLDS_DELAY, choice->steps, choice->pieces);
    int code = table_print(table, out, err);
    table_free(table);
    return code;
}

static json_t *thresholds_json(const struct plan_report *report)
{
    const struct auto_thresholds *choice = report->thresholds;
    json_t *trials = json_array();
    for (size_t i = 0; i < choice->trial_count; i++) {
        const struct threshold_trial *trial = &choice->trials[i];
        json_t *levels = json_array();
        for (unsigned level = 0; level < trial->count; level++)
            json_push(levels, json_integer((json_int_t)trial->thresholds[level]));
        json_push(trials, json_pack("{so sf sf sf}", "thresholds", levels, "makespan_ratio",
                                    1 + (double)trial->excess / MILLION, "delay",
                                    (double)trial->delay / MILLION, "score",
                                    (double)trial->score / MILLION));
    }
    return json_pack("{sI sI so}", "steps", (json_int_t)choice->steps, "pieces",
                     (json_int_t)choice->pieces, "candidates", trials);
}

int plan_report_summary(const struct plan_report *report, struct output *out, struct error *err)
{
    static const struct column columns[] = { { NULL, ALIGN_LEFT, 0 }, { NULL, ALIGN_LEFT, 0 } };
    struct table *facts = table_new(columns, 2);
    char digest[DIGEST_TEXT_BYTES];
    describe_job(report, facts);
    describe_steps(report, facts);
    describe_balance(report, facts);
    describe_sharding(report, facts);
    describe_policy(report, facts);
    table_cell(facts, "digest");
    table_cell(facts, "%s", digest_text(report->digest, digest));
    int code = table_print(facts, out, err);
    table_free(facts);
    if (!code && report->thresholds)
        code = print_trials(report, out, err);
    return code ? code : output_flush(out, err);
}

static json_t *policy_json(const struct plan_report *report)
{
    json_t *object = json_object();
    for (size_t i = 0; i < report->fact_count; i++)
        json_put(object, report->facts[i].name, json_real(report->facts[i].value));
    return object;
}

int plan_report_json(const struct plan_report *report, struct output *out, struct error *err)
{
    const struct tally *tally = &report->tally;
    const struct config *config = report->config;
    char digest[DIGEST_TEXT_BYTES];
    json_t *object = json_pack(
        "{ss ss sI sI sI sI sf s{sf sf} sf s{sf sI} sI s{sf sf} sb ss so* so*}", "policy",
        config->packing.policy, "sharding", cp_strategy_name(config->sharding.strategy), "from",
        (json_int_t)report->first, "steps", (json_int_t)tally->steps, "tokens",
        (json_int_t)tally->tokens, "pieces", (json_int_t)tally->pieces, "crossover_tokens",
        report->crossover_tokens, "imbalance", "mean", tally_imbalance(tally), "max",
        tally->imbalance_max, "makespan_ratio", tally_makespan_ratio(tally), "delay", "mean",
        tally_delay(tally), "max", (json_int_t)tally->delay_max, "longest",
        (json_int_t)tally->longest, "cp", "busiest_over_ideal", tally_busiest_cp_rank(tally),
        "per_document", (double)tally->per_document / (double)tally->microbatches, "end",
        report->ended, "digest", digest_text(report->digest, digest), "packing",
        report->fact_count > 0 ? policy_json(report) : NULL, "outlier_thresholds",
        report->thresholds ? thresholds_json(report) : NULL);
    return json_line(out, object, err);
}
