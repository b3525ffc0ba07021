#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "ctl/json_line.h"
#include "ctl/simulate_report.h"

#define LINE_COLUMNS 79

/* Both texts of a recommendation; each is to be freed. */
static int write_texts(const struct recommendation *recommendation, const struct config *job,
                       char **ret_yaml, char **ret_why, struct error *err)
{
    int status = recommendation_yaml(recommendation, ret_yaml, err);
    return status ? status : recommendation_why(recommendation, job, ret_why, err);
}

static json_t *thresholds_json(const struct setting *setting)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < setting->threshold_count; i++)
        json_push(list, json_integer((json_int_t)setting->thresholds[i]));
    return list;
}

/* null where the policy knows no such thing. */
static json_t *balance_json(const struct setting *setting)
{
    return setting_balances(setting) ? json_real(setting->balance) : json_null();
}

static json_t *recommend_json(const struct recommendation *recommendation, const char *yaml,
                              const char *why)
{
    const struct trial *best = &recommendation->trials[recommendation->best];
    return json_pack(
        "{s{ss ss sI so so sI sI sf sf sf sf s{sf sI} sI s{sf} ss ss}}", "recommend", "policy",
        best->setting.policy, "sharding", cp_strategy_name(best->setting.sharding),
        "max_sequence_length", (json_int_t)best->setting.max_sequence_length, "outlier_thresholds",
        thresholds_json(&best->setting), "balance", balance_json(&best->setting), "tried",
        (json_int_t)recommendation->count, "steps", (json_int_t)recommendation->steps, "speedup",
        best->speedup, "equal_work_speedup", best->gain, "imbalance", best->imbalance,
        "makespan_ratio", best->makespan_ratio, "delay", "mean", best->delay, "max",
        (json_int_t)best->delay_max, "longest", (json_int_t)best->longest, "cp",
        "busiest_over_ideal", best->busiest_over_ideal, "yaml", yaml, "why", why);
}

int simulate_recommend_json(const struct recommendation *recommendation, const struct config *job,
                            struct output *out, struct error *err)
{
    char *yaml = NULL, *why = NULL;
    int status = write_texts(recommendation, job, &yaml, &why, err);
    if (status == 0)
        status = json_line(out, recommend_json(recommendation, yaml, why), err);
    free(yaml);
    free(why);
    return status;
}

/* Fills lines with words, so that a terminal does not break them itself. */
static void print_wrapped(struct output *out, const char *text)
{
    size_t column = 0;
    while (*text) {
        size_t word = strcspn(text, " ");
        if (column && column + 1 + word > LINE_COLUMNS) {
            output_print(out, "\n");
            column = 0;
        }
        output_print(out, "%s%.*s", column ? " " : "", (int)word, text);
        column += word + (column ? 1 : 0);
        text += word + strspn(text + word, " ");
    }
    output_print(out, "\n");
}

int simulate_recommend_text(const struct recommendation *recommendation, const struct config *job,
                            struct output *out, struct error *err)
{
    char *yaml = NULL, *why = NULL;
    int status = write_texts(recommendation, job, &yaml, &why, err);
    if (status == 0) {
        output_print(out, "\nRecommended, of %zu settings tried on %" PRIu64 " steps:\n\n",
                     recommendation->count, recommendation->steps);
        output_print(out, "%s\n", yaml);
        print_wrapped(out, why);
        status = output_flush(out, err);
    }
    free(yaml);
    free(why);
    return status;
}
