/* Cost tables and built-in devices by way of a configuration. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"
#include "support/temp_dir.h"

#define TABLE                                                                                      \
    "# ballast cost table 1\n# device: d\n# dtype: bf16\n# heads: 8\n# head_dim: 128\n"            \
    "# kernel: k\n# unit: us\nop,tp,cp,q,kv,latency\n"                                             \
    "attention,1,1,1024,1024,10\nattention,1,1,4096,4096,100\nlinear,1,1,1024,0,16\n"              \
    "attention,2,1,1024,1024,6\nattention,2,1,4096,4096,60\nlinear,2,1,1024,0,9\n"

#define JOB                                                                                        \
    "job: small\nsources:\n  - { name: a, format: lengths, paths: [a.txt] }\n"                     \
    "context_window: 4096\n"

/* A job beside its table, in a directory of its own. */
struct desk {
    struct temp_dir dir;
    char job[TEMP_PATH_BYTES], table[TEMP_PATH_BYTES];
};

static struct desk desk_with(const char *table, const char *cost)
{
    struct desk desk = { .dir = temp_dir_make() };
    char text[1024];
    temp_path(&desk.dir, "job.yaml", desk.job);
    temp_path(&desk.dir, "t.csv", desk.table);
    snprintf(text, sizeof text, JOB "cost: %s\n", cost);
    file_write(desk.job, text, strlen(text));
    file_write(desk.table, table, strlen(table));
    return desk;
}

static struct config *must_load(const struct desk *desk, const char *key, const char *value)
{
    struct config_override override = { key, value };
    struct config *config = NULL;
    struct error err = { 0 };
    int code = config_load(desk->job, &override, key != NULL, &config, &err);
    cr_assert_eq(code, 0, "%s", err.text);
    return config;
}

static void must_refuse_load(const struct desk *desk, const char *key, const char *value,
                             const char *part)
{
    struct config_override override = { key, value };
    struct config *config = NULL;
    struct error err = { 0 };
    cr_expect_eq(config_load(desk->job, &override, key != NULL, &config, &err), EX_CONFIG);
    cr_expect(strstr(err.text, part), "found:    %s\nexpected: %s", err.text, part);
    config_free(config);
}

static char *plan_text(const struct config *config)
{
    char *text = NULL;
    struct error err = { 0 };
    cr_assert_eq(config_plan_text(config, &text, &err), 0);
    return text;
}

Test(config_cost_table, lies_beside_the_configuration)
{
    struct desk desk = desk_with(TABLE, "{ table: t.csv }");
    struct config *config = must_load(&desk, NULL, NULL);
    cr_expect_eq(config->cost.table[0], '/');
    cr_expect_eq(config->cost.measured.longest, 4096);
    cr_expect_eq(config->cost.measured.linear, 15625);
    config_free(config);
    config = must_load(&desk, "parallel.tp", "2");
    cr_expect_eq(config->cost.measured.linear, 8789);
    config_free(config);
    temp_dir_remove(&desk.dir);
}

/* The golden text: it is hashed into job digests. */
Test(config_cost_table, what_it_says_decides_plans_and_not_where_it_lies)
{
    struct desk desk = desk_with(TABLE, "{ table: t.csv }");
    struct config *config = must_load(&desk, NULL, NULL);
    char *text = plan_text(config);
    cr_expect(strstr(text, "\ncost table cp=1 linear=15625 attention=1024:10000000,4096:100000000"
                           "\n"),
              "%s", text);
    config_free(config);
    char other[TEMP_PATH_BYTES];
    temp_path(&desk.dir, "u.csv", other);
    file_write(other, TABLE "# note\n", strlen(TABLE "# note\n"));
    config = must_load(&desk, "cost.table", other);
    char *same = plan_text(config);
    cr_expect_str_eq(same, text);
    config_free(config);
    config = must_load(&desk, "parallel.tp", "2");
    char *different = plan_text(config);
    cr_expect_str_neq(different, text);
    config_free(config);
    free(different);
    free(same);
    free(text);
    temp_dir_remove(&desk.dir);
}

Test(config_cost_table, prints_what_it_reads)
{
    struct desk desk = desk_with(TABLE, "{ table: t.csv, extrapolate: true }");
    struct config *config = must_load(&desk, NULL, NULL);
    char *printed = must_print(config), expected[2 * TEMP_PATH_BYTES];
    snprintf(expected, sizeof expected, "cost:\n  table: %s\n  extrapolate: true\n",
             config->cost.table);
    cr_expect_not_null(strstr(printed, expected), "%s", printed);
    config_free(config);
    config = must_parse(printed, NULL);
    char *again = must_print(config);
    cr_expect_str_eq(again, printed);
    config_free(config);
    free(again);
    free(printed);
    temp_dir_remove(&desk.dir);
}

Test(config_cost_table, refusals_name_the_line_of_the_configuration_and_of_the_table)
{
    struct desk desk = desk_with(TABLE "linear,2,1,x,0,9\n", "{ table: t.csv }");
    must_refuse_load(&desk, NULL, NULL, "job.yaml:5: cost.table: ");
    must_refuse_load(&desk, NULL, NULL,
                     "/t.csv:15: q: found \"x\", expected a whole number from 1");
    must_refuse_load(&desk, "cost.table", "absent.csv",
                     "absent.csv: cannot read the cost table: No such file");
    temp_dir_remove(&desk.dir);
}

Test(config_cost_table, is_the_only_way_given)
{
    struct desk desk = desk_with(TABLE, "{ table: t.csv }");
    must_refuse_load(&desk, "cost.crossover_tokens", "5",
                     "cost.table: found cost.crossover_tokens too, expected exactly one of "
                     "crossover_tokens, model and table");
    temp_dir_remove(&desk.dir);
}

Test(config_cost_table, longer_pieces_than_measured_are_refused_or_flagged)
{
    struct desk desk = desk_with(TABLE, "{ table: t.csv }");
    must_refuse_load(&desk, "context_window", "8192",
                     "cost.table: was measured for documents of up to 4096 tokens, expected "
                     "context_window (8192): measure longer documents, or write cost.extrapolate: "
                     "true to let the last two lengths decide");
    struct config_override overrides[] = { { "context_window", "8192" },
                                           { "cost.extrapolate", "true" } };
    struct config *config = NULL;
    struct error err = { 0 };
    cr_expect_eq(config_load(desk.job, overrides, 2, &config, &err), 0, "%s", err.text);
    config_free(config);
    must_refuse_load(&desk, "cost.extrapolate", "yes", "found \"yes\", expected false or true");
    temp_dir_remove(&desk.dir);
}

#define SHAPE                                                                                      \
    "{ layers: 32, hidden: 4096, heads: 32, kv_heads: 8, ffn: 14336, vocab: 128256, tp: 8 }"

/* A golden text: a fit that changes is another job. */
Test(config_cost_table, device_has_its_own_rate)
{
    struct config *config = must_parse(JOB "cost: { device: h100, model: " SHAPE " }\n", NULL);
    char *text = plan_text(config), *printed = must_print(config);
    cr_expect(strstr(text, "\ncost device=h100 linear="), "%s", text);
    cr_expect_not_null(strstr(printed, "  device: h100\n"));
    cr_expect_null(strstr(printed, "tflops"), "%s", printed);
    config_free(config);
    config = must_parse(printed, NULL);
    char *again = plan_text(config);
    cr_expect_str_eq(again, text);
    config_free(config);
    free(again);
    free(printed);
    free(text);
}

static void refuse(const char *cost, const char *expected)
{
    char text[1024];
    struct error err = { 0 };
    snprintf(text, sizeof text, JOB "cost: %s\n", cost);
    cr_expect_eq(must_refuse(text, NULL, &err), EX_CONFIG);
    cr_expect_str_eq(err.text, expected, "found:    %s\nexpected: %s", err.text, expected);
}

Test(config_cost_table, keys_that_do_not_go_together)
{
    refuse("{ crossover_tokens: 5, extrapolate: true }",
           "job.yaml:5: cost.extrapolate: found it without cost.table, which alone it is for: "
           "remove it");
    refuse("{ crossover_tokens: 5, device: h100 }",
           "job.yaml:5: cost.device: found no model, expected one: a device needs the figures of "
           "the transformer, cost: { device: h100, model: ... }");
    refuse("{ device: v100, model: " SHAPE " }",
           "job.yaml:5: cost.device: found v100, expected h100");
    refuse("{ model: " SHAPE " }",
           "job.yaml:5: cost.model: the key 'tflops' is missing: write for example tflops: 400, or "
           "name a device: cost: { device: h100, model: ... }");
}
