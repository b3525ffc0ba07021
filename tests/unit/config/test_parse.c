/* What is accepted, and what it means. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

static const char *const design_sample =
    "job: llama-7b-128k\n"
    "seed: 1234\n"
    "sources:\n"
    "  - { name: web,  format: megatron, paths: [/data/web-*.idx],  weight: 0.7, epochs: repeat }\n"
    "  - { name: code, format: megatron, paths: [/data/a.idx, b.idx], weight: 0.3, epochs: 3 }\n"
    "vocab_size: 50257\n"
    "parallel: { dp: 3, pp: 4, cp: 2, tp: 8, microbatches: 5 }   # per DP replica per step\n"
    "context_window: 131072\n"
    "max_sequence_length: 196608\n"
    "long_documents: truncate\n"
    "last_step: serve\n"
    "on_bad_shard: skip\n"
    "packing:  { policy: plain, window: 8, outlier_thresholds: [10, 20, 30], "
    "max_waiting_steps: 5 }\n"
    "sharding: { strategy: per-document, tile: 64, pad_to_multiple: 16 }\n"
    "cost:     { crossover_tokens: 24576 }\n"
    "serve:    { endpoint: \"tcp://*:*\", admin: 'ipc://@ballast', steps_ahead: 4, "
    "gather_threads: 3, cache_bytes: 1000000, max_message_bytes: 2048, max_clients: 9 }\n"
    "access:   { curve_secret_key: /k/server.key, clients: /k/clients,\n"
    "            max_clients_per_key: 8 }\n"
    "observe:  { log: json }\n";

Test(config_parse, reads_every_key_of_the_job)
{
    struct config *config = must_parse(design_sample, NULL);
    cr_expect_str_eq(config->job, "llama-7b-128k");
    cr_expect_eq(config->seed, 1234);
    cr_expect_eq(config->vocab_size, 50257);
    cr_expect_eq(config->parallel.dp, 3);
    cr_expect_eq(config->parallel.pp, 4);
    cr_expect_eq(config->parallel.cp, 2);
    cr_expect_eq(config->parallel.tp, 8);
    cr_expect_eq(config->parallel.microbatches, 5);
    cr_expect_eq(config_step_microbatches(config), 15);
    cr_expect_eq(config->context_window, 131072);
    cr_expect_eq(config->max_sequence_length, 196608);
    cr_expect_eq(config->long_documents, LONG_TRUNCATE);
    cr_expect_eq(config->last_step, LAST_STEP_SERVE);
    cr_expect_eq(config->on_bad_shard, BAD_SHARD_SKIP);
    cr_expect(config->sources[0].leave_out_bad && config->sources[1].leave_out_bad);
    config_free(config);
}

Test(config_parse, reads_every_key_of_sources)
{
    struct config *config = must_parse(design_sample, NULL);
    cr_assert_eq(config->source_count, 2);
    const struct source_spec *web = &config->sources[0], *code = &config->sources[1];
    cr_expect_str_eq(web->name, "web");
    cr_expect_eq(web->format, SOURCE_MEGATRON);
    cr_expect_eq(web->path_count, 1);
    cr_expect_str_eq(web->paths[0], "/data/web-*.idx");
    cr_expect_float_eq(web->weight, 0.7, 0);
    cr_expect_eq(web->epochs, 0);
    cr_expect_str_eq(code->name, "code");
    cr_assert_eq(code->path_count, 2);
    cr_expect_str_eq(code->paths[1], "b.idx");
    cr_expect_eq(code->epochs, 3);
    config_free(config);
}

Test(config_parse, reads_every_key_of_the_modules)
{
    struct config *config = must_parse(design_sample, NULL);
    cr_expect_str_eq(config->packing.policy, "plain");
    cr_expect_eq(config->packing.window, 8);
    cr_assert_eq(config->packing.outlier_threshold_count, 3);
    cr_expect_eq(config->packing.outlier_thresholds[0], 10);
    cr_expect_eq(config->packing.outlier_thresholds[2], 30);
    cr_expect_eq(config->packing.max_waiting_steps, 5);
    cr_expect_eq(config->sharding.strategy, CP_PER_DOCUMENT);
    cr_expect_eq(config->sharding.ranks, 2);
    cr_expect_eq(config->sharding.tile, 64);
    cr_expect_eq(config->sharding.pad_to_multiple, 16);
    cr_expect_eq(config->cost.crossover_tokens, 24576);
    cr_expect_eq(config->cost.model.layers, 0);
    cr_expect_str_eq(config->serve.endpoint, "tcp://*:*");
    cr_expect_str_eq(config->serve.admin, "ipc://@ballast");
    cr_expect_eq(config->serve.steps_ahead, 4);
    cr_expect_eq(config->serve.gather_threads, 3);
    cr_expect_eq(config->serve.cache_bytes, 1000000);
    cr_expect_eq(config->serve.max_message_bytes, 2048);
    cr_expect_eq(config->serve.max_clients, 9);
    cr_expect_str_eq(config->access.curve_secret_key, "/k/server.key");
    cr_expect_str_eq(config->access.clients, "/k/clients");
    cr_expect_eq(config->access.max_clients_per_key, 8);
    cr_expect_not(config->access.allow_plaintext);
    cr_expect_eq(config->observe.log, LOG_JSON);
    config_free(config);
}

Test(config_parse, fills_in_defaults_of_the_job)
{
    struct config *config = must_parse(SMALLEST, NULL);
    cr_expect_eq(config->seed, 0);
    cr_expect_float_eq(config->sources[0].weight, 1, 0);
    cr_expect_eq(config->sources[0].epochs, 0, "repeat");
    cr_expect_eq(config->vocab_size, 0);
    cr_expect_eq(config->parallel.dp, 1);
    cr_expect_eq(config->parallel.pp, 1);
    cr_expect_eq(config->parallel.cp, 1);
    cr_expect_eq(config->parallel.tp, 1);
    cr_expect_eq(config->parallel.microbatches, 1);
    cr_expect_eq(config->max_sequence_length, 8192, "2 x S for wlb");
    cr_expect_eq(config->long_documents, LONG_SPLIT);
    cr_expect_eq(config->last_step, LAST_STEP_DROP);
    cr_expect_eq(config->on_bad_shard, BAD_SHARD_STOP);
    cr_expect_not(config->sources[0].leave_out_bad);
    config_free(config);
}

Test(config_parse, fills_in_defaults_of_the_modules)
{
    struct config *config = must_parse(SMALLEST, NULL);
    cr_expect_str_eq(config->packing.policy, "wlb");
    cr_expect_eq(config->packing.window, 1);
    cr_assert_eq(config->packing.outlier_threshold_count, 2);
    cr_expect_eq(config->packing.outlier_thresholds[0], 1024, "S/4");
    cr_expect_eq(config->packing.outlier_thresholds[1], 2560, "5S/8");
    cr_expect_eq(config->packing.max_waiting_steps, 16);
    cr_expect_eq(config->sharding.strategy, CP_ADAPTIVE);
    cr_expect_eq(config->sharding.ranks, 1);
    cr_expect_eq(config->sharding.tile, 128);
    cr_expect_eq(config->sharding.pad_to_multiple, 1);
    cr_expect_str_eq(config->serve.endpoint, "tcp://127.0.0.1:5755");
    cr_expect_str_eq(config->serve.admin, "ipc:///run/ballast/admin.sock");
    cr_expect_eq(config->serve.steps_ahead, 8);
    cr_expect_eq(config->serve.gather_threads, 2);
    cr_expect_eq(config->serve.cache_bytes, 0);
    cr_expect_eq(config->serve.max_message_bytes, 4096);
    cr_expect_eq(config->serve.max_clients, 4096);
    cr_expect_eq(config->observe.log, LOG_TEXT);
    config_free(config);
}

Test(config_parse, default_length_is_the_window_for_policies_that_never_exceed_it)
{
    for (int i = 0; i < 2; i++) {
        const char *override = i ? "packing.policy=plain" : "packing.policy=fixed-greedy";
        struct config *config = must_parse(SMALLEST, (const char *[]){ override, NULL });
        cr_expect_eq(config->max_sequence_length, 4096);
        config_free(config);
    }
}

Test(config_parse, default_thresholds_rise_even_in_the_smallest_windows)
{
    for (int window = 1; window < 12; window++) {
        char override[32];
        snprintf(override, sizeof override, "context_window=%d", window);
        struct config *config = must_parse(SMALLEST, (const char *[]){ override, NULL });
        const uint64_t *thresholds = config->packing.outlier_thresholds;
        cr_expect(thresholds[0] >= 1 && thresholds[1] > thresholds[0], "S = %d", window);
        config_free(config);
    }
}

Test(config_parse, completes_the_model_from_the_job)
{
    const char *const overrides[] = {
        "cost={ model: { layers: 32, hidden: 4096, heads: 32, ffn: 11008, tflops: 400.5 } }",
        "vocab_size=50257", "parallel.tp=8", NULL
    };
    struct config *config = must_parse(SMALLEST, overrides);
    const struct cost_shape *model = &config->cost.model;
    cr_expect_eq(model->layers, 32);
    cr_expect_eq(model->hidden, 4096);
    cr_expect_eq(model->heads, 32);
    cr_expect_eq(model->kv_heads, 32);
    cr_expect_eq(model->ffn, 11008);
    cr_expect_eq(model->vocab, 50257);
    cr_expect_eq(model->tp, 8);
    cr_expect_float_eq(model->tflops, 400.5, 0);
    cr_expect_eq(config->cost.crossover_tokens, 0);
    config_free(config);
}

Test(config_parse, takes_numbers_up_to_their_bounds)
{
    const char *const overrides[] = {
        "seed=18446744073709551615",     "parallel.dp=65536",
        "context_window=67108864",       "cost.crossover_tokens=0x10000",
        "max_sequence_length=268435456", NULL
    };
    struct config *config = must_parse(SMALLEST, overrides);
    cr_expect_eq(config->seed, UINT64_MAX);
    cr_expect_eq(config->context_window, 1u << 26);
    cr_expect_eq(config->max_sequence_length, 1u << 28);
    cr_expect_eq(config->cost.crossover_tokens, 65536);
    cr_expect_eq(config_step_microbatches(config), 65536);
    config_free(config);
}

Test(config_parse, reads_any_style_of_yaml)
{
    const char *text =
        "%YAML 1.1\n---\n\"job\": 'it''s \"fine\"'\r\n"
        "context_window: \"4096\"\nsources: [{name: a,\n  format: lengths,\n"
        "  paths: [\"a\\tb\", >-\n    c\n  ]}]\ncost: {crossover_tokens: 1024}\n...\n";
    struct error err = { 0 };
    int status = must_refuse(text, NULL, &err); /* a block scalar inside a flow list */
    cr_expect_eq(status, EX_CONFIG);
    text = "%YAML 1.1\n---\n\"job\": 'it''s \"fine\"'\r\n"
           "context_window: \"4096\"\nsources: [{name: a,\n  format: lengths,\n"
           "  paths: [\"a\\tb\"]}]\ncost: {crossover_tokens: 1024}\n...\n";
    struct config *config = must_parse(text, NULL);
    cr_expect_str_eq(config->job, "it's \"fine\"");
    cr_expect_str_eq(config->sources[0].paths[0], "a\tb");
    config_free(config);
}

Test(config_parse, free_accepts_null)
{
    config_free(NULL);
}

/* A word where libcyaml knows lists only. */
Test(config_parse, thresholds_may_be_left_to_the_planner)
{
    const char *const overrides[] = { "packing.outlier_thresholds=auto", NULL };
    const char *text = SMALLEST "packing: { outlier_thresholds: auto }\n";
    for (int way = 0; way < 2; way++) {
        struct config *config = must_parse(way ? SMALLEST : text, way ? overrides : NULL);
        cr_expect(config->packing.auto_thresholds);
        cr_expect_eq(config->packing.outlier_threshold_count, 0);
        char *printed = must_print(config);
        cr_expect(strstr(printed, "\n  outlier_thresholds: auto\n  max_waiting_steps:"), "%s",
                  printed);
        config_free(config);
        config = must_parse(printed, NULL);
        cr_expect(config->packing.auto_thresholds, "what is printed is read as the same");
        config_free(config);
        free(printed);
    }
    const char *const list[] = { "packing.outlier_thresholds=[5]", NULL };
    struct config *config = must_parse(text, list);
    cr_expect_not(config->packing.auto_thresholds);
    cr_expect_eq(config->packing.outlier_thresholds[0], 5);
    config_free(config);
}
