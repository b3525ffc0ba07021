/* `--set KEY=VALUE`. */
#include <criterion/criterion.h>

#include "parse.h"

#define SET(...) ((const char *[]){ __VA_ARGS__, NULL })

#define TWO_SOURCES                                                                                \
    "job: j\n"                                                                                     \
    "sources:\n"                                                                                   \
    "  - { name: web, format: lengths, paths: [x] }\n"                                             \
    "  - { name: web.v2, format: lengths, paths: [y], weight: 3 }\n"                               \
    "  - { name: '0', format: lengths, paths: [z] }\n"                                             \
    "context_window: 4096\n"                                                                       \
    "cost: { crossover_tokens: 1024 }\n"                                                           \
    "packing: { policy: wlb, outlier_thresholds: [1, 2, 3] }\n"

Test(config_overrides, replace_and_add)
{
    struct config *config = must_parse(
        TWO_SOURCES, SET("seed=7", "packing.outlier_thresholds=[32768,81920]", "parallel.dp=4",
                         "job='a b'", "seed=8", "serve={steps_ahead: 3}"));
    cr_expect_eq(config->seed, 8, "the last one counts");
    cr_expect_str_eq(config->packing.policy, "wlb");
    cr_assert_eq(config->packing.outlier_threshold_count, 2);
    cr_expect_eq(config->packing.outlier_thresholds[1], 81920);
    cr_expect_eq(config->parallel.dp, 4);
    cr_expect_eq(config->parallel.cp, 1);
    cr_expect_str_eq(config->job, "a b");
    cr_expect_eq(config->serve.steps_ahead, 3);
    config_free(config);
}

Test(config_overrides, sources_by_name_or_number)
{
    struct config *config =
        must_parse(TWO_SOURCES, SET("sources.web.weight=0.5", "sources.web.v2.weight=0.25",
                                    "sources.0.epochs=2", "sources.1.epochs=3"));
    cr_expect_float_eq(config->sources[0].weight, 0.5, 0);
    cr_expect_float_eq(config->sources[1].weight, 0.25, 0);
    cr_expect_eq(config->sources[2].epochs, 2, "a name goes before a number");
    cr_expect_eq(config->sources[1].epochs, 3);
    cr_expect_eq(config->sources[0].epochs, 0);
    config_free(config);
}

Test(config_overrides, whole_sections_and_items)
{
    struct config *config = must_parse(
        TWO_SOURCES,
        SET("sources.web={name: new, format: lengths, paths: [p, q], weight: 9}",
            "cost={model: {layers: 2, hidden: 64, heads: 4, ffn: 128, vocab: 99, tflops: 1}}"));
    cr_expect_str_eq(config->sources[0].name, "new");
    cr_expect_eq(config->sources[0].path_count, 2);
    cr_expect_eq(config->cost.crossover_tokens, 0);
    cr_expect_eq(config->cost.model.kv_heads, 4);
    config_free(config);
}

Test(config_overrides, can_complete_a_file)
{
    struct config *config =
        must_parse("job: j\ncost:\n", SET("sources=[{name: a, format: lengths, paths: [x]}]",
                                          "context_window=64", "cost.crossover_tokens=16"));
    cr_expect_eq(config->context_window, 64);
    cr_expect_eq(config->cost.crossover_tokens, 16);
    config_free(config);
}

static void check(const char *override, const char *expected)
{
    struct error err = { 0 };
    cr_expect_eq(must_refuse(TWO_SOURCES, SET("seed=1", override), &err), EX_CONFIG);
    cr_expect_str_eq(err.text, expected, "found:    %s\nexpected: %s", err.text, expected);
}

#define SYNTAX "; check indentation (spaces, no tabs), colons and brackets"

Test(config_overrides, errors_of_values_name_the_override)
{
    check("packing.window=0", "job.yaml, --set packing.window=\"0\": packing.window: found \"0\", "
                              "expected a whole number from 1 to 1024");
    check("sources.web.weight=-1", "job.yaml, --set sources.web.weight=\"-1\": sources[0].weight: "
                                   "found \"-1\", expected a number from 1e-06 to 1e+09");
    check("packing.polcy=wlb", "job.yaml, --set packing.polcy=\"wlb\": packing: unknown key "
                               "\"polcy\", expected one of policy, window, outlier_thresholds, "
                               "max_waiting_steps, objective, balance, max_delay, solver_nodes and "
                               "solver_time_ms");
    check("packing=wlb", "job.yaml, --set packing=\"wlb\": packing: found \"wlb\", expected a "
                         "mapping { key: value }");
    check("cost={}", "job.yaml, --set cost=\"{}\": cost: found none of crossover_tokens, model "
                     "and table, expected exactly one: write for example cost: { "
                     "crossover_tokens: 24576 }");
    check("max_sequence_length=5", "job.yaml, --set max_sequence_length=\"5\": "
                                   "max_sequence_length: found 5, expected at least "
                                   "context_window (4096)");
}

Test(config_overrides, errors_of_the_file_still_name_its_line)
{
    struct error err = { 0 };
    must_refuse(TWO_SOURCES "seed: x\n", SET("packing.window=2"), &err);
    cr_expect_str_eq(err.text, "job.yaml:9: seed: found \"x\", expected a whole number from 0 to "
                               "18446744073709551615");
}

Test(config_overrides, errors_of_the_override_itself)
{
    check("=3", "--set \"\"=\"3\": not a key: write names with dots between, such as "
                "packing.policy");
    check("a b=3", "--set \"a b\"=\"3\": not a key: write names with dots between, such as "
                   "packing.policy");
    check("packing..policy=3", "--set \"packing..policy\"=\"3\": a name in the key is empty: write "
                               "names with dots between, such as packing.policy");
    check("packing.=3", "--set \"packing.\"=\"3\": a name in the key is empty: write names with "
                        "dots between, such as packing.policy");
    check("seed=", "--set \"seed\"=\"\": no value behind '=': write KEY=VALUE");
    check("seed=[1", "--set \"seed\"=\"[1\": not YAML: did not find expected ',' or ']' while "
                     "parsing a flow sequence" SYNTAX);
    check("seed=*a", "--set \"seed\"=\"*a\": anchors (&name) and aliases (*name) are not "
                     "supported: write the value out, or quote a glob that begins with *");
    check("job.name=x", "--set \"job.name\"=\"x\": 'name' lies below a single value");
    check("sources.nope.weight=1", "--set \"sources.nope.weight\"=\"1\": the list has no item "
                                   "'nope': give its name, or its number from 0");
    check("sources.3.weight=1", "--set \"sources.3.weight\"=\"1\": the list has no item '3': give "
                                "its name, or its number from 0");
    check("a.b.c.d.e.f.g.h.i=1", "--set \"a.b.c.d.e.f.g.h.i\"=\"1\": more than 8 names in the key");
}
