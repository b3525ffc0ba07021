/* ballastctl step: how a daemon plans a step. */
#include <inttypes.h>

#include "ctl/daemon.h"
#include "ctl/human.h"
#include "ctl/table.h"

static const struct column columns[] = {
    { "micro-batch", ALIGN_RIGHT, 0 }, { "dp", ALIGN_RIGHT, 0 },
    { "slot", ALIGN_RIGHT, 0 },        { "pieces", ALIGN_RIGHT, 0 },
    { "tokens", ALIGN_RIGHT, 0 },      { "longest piece", ALIGN_RIGHT, 0 },
    { "work", ALIGN_RIGHT, 0 },        { "busiest CP rank", ALIGN_RIGHT, 0 },
    { "sharding", ALIGN_LEFT, 0 },
};

struct microbatch_row {
    json_int_t index, dp, slot, tokens, workload;
    const char *sharding;
    json_t *pieces, *ranks;
};

static int read_row(json_t *microbatch, struct microbatch_row *row, struct error *err)
{
    json_error_t why;
    if (json_unpack_ex(microbatch, &why, 0, "{sI sI sI sI sI ss so so}", "index", &row->index, "dp",
                       &row->dp, "slot", &row->slot, "tokens", &row->tokens, "workload",
                       &row->workload, "sharding", &row->sharding, "pieces", &row->pieces, "ranks",
                       &row->ranks))
        return daemon_misfit(&why, err);
    return 0;
}

/* Sum and maximum of one number over an array of objects. */
struct spread {
    double sum, most;
};

static struct spread spread_of(json_t *array, const char *key)
{
    struct spread spread = { 0, 0 };
    size_t index;
    json_t *object;
    json_array_foreach(array, index, object)
    {
        double value = json_number_value(json_object_get(object, key));
        spread.sum += value;
        spread.most = value > spread.most ? value : spread.most;
    }
    return spread;
}

static double over_mean(double value, double sum, size_t count)
{
    return sum > 0 ? value * (double)count / sum : 1;
}

static void add_row(struct table *table, const struct microbatch_row *row, double workload_sum,
                    size_t microbatches)
{
    char text[HUMAN_BYTES];
    struct spread attention = spread_of(row->ranks, "attention");
    table_cell(table, "%" JSON_INTEGER_FORMAT, row->index);
    table_cell(table, "%" JSON_INTEGER_FORMAT, row->dp);
    table_cell(table, "%" JSON_INTEGER_FORMAT, row->slot);
    table_cell(table, "%s", human_count(json_array_size(row->pieces), text));
    table_cell(table, "%s", human_count((uint64_t)row->tokens, text));
    table_cell(table, "%s", human_count((uint64_t)spread_of(row->pieces, "length").most, text));
    table_cell(table, "%.4f", over_mean((double)row->workload, workload_sum, microbatches));
    table_cell(table, "%.4f",
               over_mean(attention.most, attention.sum, json_array_size(row->ranks)));
    table_cell(table, "%s", row->sharding);
}

static int add_rows(struct table *table, json_t *microbatches, struct error *err)
{
    double workload_sum = spread_of(microbatches, "workload").sum;
    size_t index;
    json_t *microbatch;
    json_array_foreach(microbatches, index, microbatch)
    {
        struct microbatch_row row;
        int code = read_row(microbatch, &row, err);
        if (code)
            return code;
        add_row(table, &row, workload_sum, json_array_size(microbatches));
    }
    return 0;
}

static int show_step(json_t *answer, struct output *out, struct error *err)
{
    json_int_t step, tokens, waiting_pieces, waiting_tokens;
    const char *digest;
    double imbalance;
    json_t *microbatches;
    json_error_t why;
    if (json_unpack_ex(answer, &why, 0, "{sI ss sI sF so s{sI sI}}", "step", &step, "digest",
                       &digest, "tokens", &tokens, "imbalance", &imbalance, "microbatches",
                       &microbatches, "waiting", "pieces", &waiting_pieces, "tokens",
                       &waiting_tokens))
        return daemon_misfit(&why, err);
    char text[HUMAN_BYTES], waiting[HUMAN_BYTES], pieces[HUMAN_BYTES];
    output_print(out, "step %" JSON_INTEGER_FORMAT ", digest %s\n", step, digest);
    output_print(out, "%s tokens, imbalance %.4f; %s piece%s of %s tokens wait\n\n",
                 human_count((uint64_t)tokens, text), imbalance,
                 human_count((uint64_t)waiting_pieces, pieces),
                 human_plural((uint64_t)waiting_pieces),
                 human_count((uint64_t)waiting_tokens, waiting));
    struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    int code = add_rows(table, microbatches, err);
    if (!code)
        code = table_print(table, out, err);
    output_print(out,
                 "\nwork: over the mean of the step; busiest CP rank: attention over the mean of "
                 "the micro-batch\n");
    table_free(table);
    return code;
}

int run_step(const struct arguments *arguments, struct output *out, struct error *err)
{
    uint64_t step;
    const char *given = arguments->operands[0];
    if (!parse_number(given, &step))
        return error_set(err, EX_USAGE, "found '%s', expected a step, a whole number from 0",
                         given);
    return daemon_ask(arguments, show_step, out, err);
}
