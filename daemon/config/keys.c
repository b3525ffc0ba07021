#include "config/keys.h"

#include <ctype.h>
#include <stdbool.h>

#include "cp/cp.h"
#include "pack/promise.h"

/* 32-bit token ids are signed in every format. */
#define MAX_VOCABULARY (UINT64_C(1) << 31)

const struct key_rule key_rules[] = {
    { .path = "job", .example = "job: my-run" },
    { .path = "seed", .max = UINT64_MAX, .standard = "0" },
    { .path = "sources",
      .example = "sources: [{ name: web, format: megatron, paths: [web-*.idx] }]" },
    { .path = "sources[]" },
    { .path = "sources[].name", .example = "name: web" },
    { .path = "sources[].format", .example = "format: megatron" },
    { .path = "sources[].paths", .example = "paths: [web-*.idx]" },
    { .path = "sources[].paths[]" },
    { .path = "sources[].weight", .least = 1e-6, .most = 1e9, .standard = "1" },
    { .path = "sources[].epochs", .min = 1, .max = INT32_MAX, .standard = "repeat" },
    { .path = "vocab_size",
      .max = MAX_VOCABULARY,
      .standard = "0",
      .example = "vocab_size: 50257" },
    { .path = "parallel" },
    { .path = "parallel.dp", .min = 1, .max = 65536, .standard = "1" },
    { .path = "parallel.pp", .min = 1, .max = 65536, .standard = "1" },
    { .path = "parallel.cp", .min = 1, .max = CP_MAX_RANKS, .standard = "1" },
    { .path = "parallel.tp", .min = 1, .max = 65536, .standard = "1" },
    { .path = "parallel.microbatches", .min = 1, .max = 65536, .standard = "1" },
    { .path = "context_window",
      .min = 1,
      .max = UINT64_C(1) << 26,
      .example = "context_window: 131072" },
    { .path = "max_sequence_length", .min = 1, .max = UINT64_C(1) << 28 },
    { .path = "long_documents", .standard = "split" },
    { .path = "last_step", .standard = "drop" },
    { .path = "on_bad_shard", .standard = "stop" },
    { .path = "packing" },
    { .path = "packing.policy", .standard = "wlb" },
    { .path = "packing.window", .min = 1, .max = 1024, .standard = "1" },
    { .path = "packing.outlier_thresholds", .word = "auto" },
    { .path = "packing.outlier_thresholds[]", .min = 1, .max = UINT64_C(1) << 28 },
    { .path = "packing.max_waiting_steps", .min = 1, .max = 65536, .standard = "16" },
    { .path = "packing.objective", .standard = "max-microbatch" },
    { .path = "packing.balance", .most = 1, .standard = "0.5" },
    { .path = "packing.max_delay", .min = 1, .max = PROMISE_MOST_DELAY, .standard = "32" },
    { .path = "packing.solver_nodes", .min = 1, .max = 1000000000, .standard = "2000" },
    { .path = "packing.solver_time_ms", .min = 1, .max = INT32_MAX, .standard = "600000" },
    { .path = "sharding" },
    { .path = "sharding.strategy", .standard = "adaptive" },
    { .path = "sharding.tile", .min = 1, .max = 4096, .standard = "128" },
    { .path = "sharding.pad_to_multiple", .min = 1, .max = 65536, .standard = "1" },
    { .path = "cost" },
    { .path = "cost.crossover_tokens", .min = 1, .max = UINT64_C(1) << 40 },
    { .path = "cost.model" },
    { .path = "cost.model.layers", .min = 1, .max = 65536, .example = "layers: 32" },
    { .path = "cost.model.hidden", .min = 1, .max = 1 << 20, .example = "hidden: 4096" },
    { .path = "cost.model.heads", .min = 1, .max = 65536, .example = "heads: 32" },
    { .path = "cost.model.kv_heads", .min = 1, .max = 65536 },
    { .path = "cost.model.ffn", .min = 1, .max = 1 << 24, .example = "ffn: 11008" },
    { .path = "cost.model.vocab", .min = 1, .max = MAX_VOCABULARY, .example = "vocab: 50257" },
    { .path = "cost.model.tp", .min = 1, .max = 65536 },
    { .path = "cost.model.tflops", .least = 1e-3, .most = 1e6, .example = "tflops: 400" },
    { .path = "cost.device", .example = "device: h100" },
    { .path = "cost.table", .example = "table: h100.csv" },
    { .path = "cost.extrapolate" },
    { .path = "serve" },
    { .path = "serve.endpoint", .standard = "tcp://127.0.0.1:5755" },
    { .path = "serve.admin", .standard = "ipc:///run/ballast/admin.sock" },
    { .path = "serve.steps_ahead", .min = 1, .max = 65536, .standard = "8" },
    { .path = "serve.gather_threads", .min = 1, .max = 256, .standard = "2" },
    { .path = "serve.cache_bytes", .max = UINT64_C(1) << 50, .standard = "0" },
    { .path = "serve.max_message_bytes", .min = 256, .max = 1 << 20, .standard = "4096" },
    { .path = "serve.max_clients", .min = 1, .max = 1 << 20, .standard = "4096" },
    { .path = "serve.readers", .max = 1 << 20, .standard = "0" },
    { .path = "access" },
    { .path = "access.curve_secret_key", .example = "curve_secret_key: server.key" },
    { .path = "access.clients", .example = "clients: clients.txt" },
    { .path = "access.max_clients_per_key", .max = 1 << 20, .standard = "0" },
    { .path = "access.allow_plaintext", .standard = "false" },
    { .path = "observe" },
    { .path = "observe.log", .standard = "text" },
    { .path = "state" },
    { .path = "state.directory", .example = "directory: /var/lib/ballast" },
    { .path = "state.snapshot_every", .min = 1, .max = INT32_MAX, .standard = "100" },
    { .path = NULL },
};

/* Is `path` the same as `pattern` but for the numbers between brackets? */
static bool matches(const char *pattern, const char *path)
{
    while (*pattern && *pattern == *path) {
        if (*path == '[')
            while (isdigit((unsigned char)path[1]))
                path++;
        pattern++;
        path++;
    }
    return !*pattern && !*path;
}

const struct key_rule *key_rule_find(const char *path)
{
    for (const struct key_rule *rule = key_rules; rule->path; rule++)
        if (matches(rule->path, path))
            return rule;
    return NULL;
}
