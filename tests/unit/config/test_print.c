/* The effective configuration as YAML, and back. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

static void expect_round_trip(const char *text, const char *const *overrides)
{
    struct config *config = must_parse(text, overrides);
    char *printed = must_print(config);
    struct config *again = must_parse(printed, NULL);
    char *printed_again = must_print(again);
    cr_expect_str_eq(printed_again, printed);
    free(printed_again);
    free(printed);
    config_free(again);
    config_free(config);
}

Test(config_print, shows_every_key_in_the_order_of_the_sample)
{
    struct config *config = must_parse(SMALLEST, NULL);
    char *printed = must_print(config);
    cr_expect_str_eq(printed, "job: small\n"
                              "seed: 0\n"
                              "sources:\n"
                              "- name: a\n"
                              "  format: lengths\n"
                              "  paths:\n"
                              "  - a.txt\n"
                              "  weight: 1\n"
                              "  epochs: repeat\n"
                              "vocab_size: 0\n"
                              "parallel:\n"
                              "  dp: 1\n"
                              "  pp: 1\n"
                              "  cp: 1\n"
                              "  tp: 1\n"
                              "  microbatches: 1\n"
                              "context_window: 4096\n"
                              "max_sequence_length: 8192\n"
                              "long_documents: split\n"
                              "last_step: drop\n"
                              "on_bad_shard: stop\n"
                              "packing:\n"
                              "  policy: wlb\n"
                              "  window: 1\n"
                              "  outlier_thresholds:\n"
                              "  - 1024\n"
                              "  - 2560\n"
                              "  max_waiting_steps: 16\n"
                              "  objective: max-microbatch\n"
                              "  balance: 0.5\n"
                              "  max_delay: 32\n"
                              "  solver_nodes: 2000\n"
                              "  solver_time_ms: 600000\n"
                              "sharding:\n"
                              "  strategy: adaptive\n"
                              "  tile: 128\n"
                              "  pad_to_multiple: 1\n"
                              "cost:\n"
                              "  crossover_tokens: 1024\n"
                              "serve:\n"
                              "  endpoint: tcp://127.0.0.1:5755\n"
                              "  admin: ipc:///run/ballast/admin.sock\n"
                              "  steps_ahead: 8\n"
                              "  gather_threads: 2\n"
                              "  cache_bytes: 0\n"
                              "  max_message_bytes: 4096\n"
                              "  max_clients: 4096\n"
                              "  readers: 0\n"
                              "access:\n"
                              "  max_clients_per_key: 0\n"
                              "  allow_plaintext: false\n"
                              "observe:\n"
                              "  log: text\n"
                              "state:\n"
                              "  snapshot_every: 100\n");
    free(printed);
    config_free(config);
}

Test(config_print, shows_the_model_instead)
{
    const char *const overrides[] = {
        "cost={ model: { layers: 2, hidden: 64, heads: 4, ffn: 128, vocab: 99, tflops: 0.1 } }",
        NULL
    };
    struct config *config = must_parse(SMALLEST, overrides);
    char *printed = must_print(config);
    cr_expect_null(strstr(printed, "crossover_tokens"));
    cr_expect_not_null(strstr(printed, "cost:\n  model:\n    layers: 2\n    hidden: 64\n"
                                       "    heads: 4\n    kv_heads: 4\n    ffn: 128\n"
                                       "    vocab: 99\n    tp: 1\n    tflops: 0.1\n"));
    free(printed);
    config_free(config);
    expect_round_trip(SMALLEST, overrides);
}

Test(config_print, property_round_trip_of_numbers)
{
    static const char *const weights[] = { "0.7",
                                           "1e-6",
                                           "1e9",
                                           "0.1",
                                           "0.30000000000000004",
                                           "123456789.123456789",
                                           "3.0000000000000004e-5" };
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        char override[64];
        snprintf(override, sizeof override, "sources.a.weight=%s", weights[i]);
        struct config *config = must_parse(SMALLEST, (const char *[]){ override, NULL });
        char *printed = must_print(config);
        struct config *again = must_parse(printed, NULL);
        cr_expect_eq(again->sources[0].weight, config->sources[0].weight, "%s", weights[i]);
        free(printed);
        config_free(again);
        config_free(config);
    }
}

Test(config_print, property_round_trip_of_texts)
{
    static const char *const jobs[] = {
        "null",    "~",          "\"1\"",           "true",
        "\"# x\"", "'a: b'",     "\"- x\"",         "'{x'",
        "\"*x\"",  "\"!x\"",     "\" x \"",         "\"\\\"'\"",
        "'&x'",    "\"é ü 漢\"", "\"\\U0001F6A2\"", "\"\\u2028x\\u0085\"",
        "'%x'",    "'---'",      "'...'",           "\"a  b\""
    };
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        char override[64];
        snprintf(override, sizeof override, "job=%s", jobs[i]);
        struct config *config = must_parse(SMALLEST, (const char *[]){ override, NULL });
        char *printed = must_print(config);
        struct config *again = must_parse(printed, NULL);
        cr_expect_str_eq(again->job, config->job);
        free(printed);
        config_free(again);
        config_free(config);
    }
}

Test(config_print, round_trip_of_everything_else)
{
    const char *const overrides[] = {
        "sources=[{name: x, format: megatron, paths: [a, 'b*'], epochs: 7}, {name: y, format: "
        "lengths, paths: [\"a\\tb\"], weight: 2.5}]",
        "vocab_size=300",
        "packing={policy: plain, window: 3, outlier_thresholds: [5], max_waiting_steps: 2}",
        "serve={endpoint: 'tcp://[::1]:*', admin: 'ipc://@x', cache_bytes: 5}",
        "observe.log=json",
        "state={directory: /var/lib/x, snapshot_every: 7}",
        NULL
    };
    expect_round_trip(SMALLEST, overrides);
}
