#include "config/schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "config/keys.h"

#define OPTIONAL CYAML_FLAG_OPTIONAL
#define POINTER CYAML_FLAG_POINTER
#define STRICT CYAML_FLAG_STRICT

#define FIELD_ENUM(key, flags, structure, member, names)                                           \
    CYAML_FIELD_ENUM(key, flags, structure, member, names, CYAML_ARRAY_LEN(names))

#define MAX_PATHS 4096
#define MAX_PATH_BYTES 4095
#define MAX_NAME_BYTES 63
#define MAX_TEXT_BYTES 255 /* as in the headers of the protocol */

static const cyaml_strval_t format_names[] = {
    { "megatron", SOURCE_MEGATRON },
    { "lengths", SOURCE_LENGTHS },
};

/* Not strict: libcyaml then takes numbers too. */
static const cyaml_strval_t epochs_names[] = { { "repeat", 0 } };

static const cyaml_strval_t long_documents_names[] = {
    { "split", LONG_SPLIT },
    { "truncate", LONG_TRUNCATE },
    { "drop", LONG_DROP },
};

static const cyaml_strval_t objective_names[] = {
    { "max-microbatch", PACK_MAX_MICROBATCH },
    { "step-time", PACK_STEP_TIME },
};

static const cyaml_strval_t last_step_names[] = {
    { "serve", LAST_STEP_SERVE },
    { "drop", LAST_STEP_DROP },
};

static const cyaml_strval_t on_bad_shard_names[] = {
    { "stop", BAD_SHARD_STOP },
    { "skip", BAD_SHARD_SKIP },
};

static const cyaml_strval_t strategy_names[] = {
    { "per-sequence", CP_PER_SEQUENCE },
    { "per-document", CP_PER_DOCUMENT },
    { "adaptive", CP_ADAPTIVE },
    { "hybrid", CP_HYBRID },
};

/* Not libcyaml's truth values, which are of many spellings. */
static const cyaml_strval_t truth_names[] = { { "false", false }, { "true", true } };

static const cyaml_strval_t log_names[] = { { "text", LOG_TEXT }, { "json", LOG_JSON } };

static const cyaml_schema_value_t path_value = { CYAML_VALUE_STRING(POINTER, char, 1,
                                                                    MAX_PATH_BYTES) };

static const cyaml_schema_field_t source_fields[] = {
    CYAML_FIELD_STRING_PTR("name", POINTER, struct source_spec, name, 1, MAX_NAME_BYTES),
    FIELD_ENUM("format", STRICT, struct source_spec, format, format_names),
    CYAML_FIELD_SEQUENCE_COUNT("paths", POINTER, struct source_spec, paths, path_count, &path_value,
                               1, MAX_PATHS),
    CYAML_FIELD_FLOAT("weight", STRICT, struct source_spec, weight),
    FIELD_ENUM("epochs", CYAML_FLAG_DEFAULT, struct source_spec, epochs, epochs_names),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t source_value = { CYAML_VALUE_MAPPING(
    CYAML_FLAG_DEFAULT, struct source_spec, source_fields) };

static const cyaml_schema_field_t parallel_fields[] = {
    CYAML_FIELD_UINT("dp", CYAML_FLAG_DEFAULT, struct parallel, dp),
    CYAML_FIELD_UINT("pp", CYAML_FLAG_DEFAULT, struct parallel, pp),
    CYAML_FIELD_UINT("cp", CYAML_FLAG_DEFAULT, struct parallel, cp),
    CYAML_FIELD_UINT("tp", CYAML_FLAG_DEFAULT, struct parallel, tp),
    CYAML_FIELD_UINT("microbatches", CYAML_FLAG_DEFAULT, struct parallel, microbatches),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t threshold_value = { CYAML_VALUE_UINT(CYAML_FLAG_DEFAULT,
                                                                       uint64_t) };

static const cyaml_schema_field_t packing_fields[] = {
    CYAML_FIELD_STRING_PTR("policy", POINTER, struct pack_options, policy, 1, MAX_NAME_BYTES),
    CYAML_FIELD_UINT("window", CYAML_FLAG_DEFAULT, struct pack_options, window),
    CYAML_FIELD_SEQUENCE_COUNT("outlier_thresholds", POINTER | OPTIONAL, struct pack_options,
                               outlier_thresholds, outlier_threshold_count, &threshold_value, 1,
                               PACK_MAX_THRESHOLDS),
    CYAML_FIELD_UINT("max_waiting_steps", CYAML_FLAG_DEFAULT, struct pack_options,
                     max_waiting_steps),
    FIELD_ENUM("objective", STRICT, struct pack_options, objective, objective_names),
    CYAML_FIELD_FLOAT("balance", CYAML_FLAG_DEFAULT, struct pack_options, balance),
    CYAML_FIELD_UINT("max_delay", CYAML_FLAG_DEFAULT, struct pack_options, max_delay),
    CYAML_FIELD_UINT("solver_nodes", CYAML_FLAG_DEFAULT, struct pack_options, solver_nodes),
    CYAML_FIELD_UINT("solver_time_ms", CYAML_FLAG_DEFAULT, struct pack_options, solver_time_ms),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t sharding_fields[] = {
    FIELD_ENUM("strategy", STRICT, struct cp_options, strategy, strategy_names),
    CYAML_FIELD_UINT("tile", CYAML_FLAG_DEFAULT, struct cp_options, tile),
    CYAML_FIELD_UINT("pad_to_multiple", CYAML_FLAG_DEFAULT, struct cp_options, pad_to_multiple),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t model_fields[] = {
    CYAML_FIELD_UINT("layers", CYAML_FLAG_DEFAULT, struct cost_shape, layers),
    CYAML_FIELD_UINT("hidden", CYAML_FLAG_DEFAULT, struct cost_shape, hidden),
    CYAML_FIELD_UINT("heads", CYAML_FLAG_DEFAULT, struct cost_shape, heads),
    CYAML_FIELD_UINT("kv_heads", OPTIONAL, struct cost_shape, kv_heads),
    CYAML_FIELD_UINT("ffn", CYAML_FLAG_DEFAULT, struct cost_shape, ffn),
    CYAML_FIELD_UINT("vocab", OPTIONAL, struct cost_shape, vocab),
    CYAML_FIELD_UINT("tp", OPTIONAL, struct cost_shape, tp),
    CYAML_FIELD_FLOAT("tflops", STRICT | OPTIONAL, struct cost_shape, tflops),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t cost_fields[] = {
    CYAML_FIELD_UINT("crossover_tokens", OPTIONAL, struct cost_options, crossover_tokens),
    CYAML_FIELD_MAPPING("model", OPTIONAL, struct cost_options, model, model_fields),
    CYAML_FIELD_STRING_PTR("device", POINTER | OPTIONAL, struct cost_options, device, 1,
                           MAX_NAME_BYTES),
    CYAML_FIELD_STRING_PTR("table", POINTER | OPTIONAL, struct cost_options, table, 1,
                           MAX_PATH_BYTES),
    FIELD_ENUM("extrapolate", STRICT | OPTIONAL, struct cost_options, extrapolate, truth_names),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t serve_fields[] = {
    CYAML_FIELD_STRING_PTR("endpoint", POINTER, struct serve_options, endpoint, 1, MAX_TEXT_BYTES),
    CYAML_FIELD_STRING_PTR("admin", POINTER, struct serve_options, admin, 1, MAX_TEXT_BYTES),
    CYAML_FIELD_UINT("steps_ahead", CYAML_FLAG_DEFAULT, struct serve_options, steps_ahead),
    CYAML_FIELD_UINT("gather_threads", CYAML_FLAG_DEFAULT, struct serve_options, gather_threads),
    CYAML_FIELD_UINT("cache_bytes", CYAML_FLAG_DEFAULT, struct serve_options, cache_bytes),
    CYAML_FIELD_UINT("max_message_bytes", CYAML_FLAG_DEFAULT, struct serve_options,
                     max_message_bytes),
    CYAML_FIELD_UINT("max_clients", CYAML_FLAG_DEFAULT, struct serve_options, max_clients),
    CYAML_FIELD_UINT("readers", CYAML_FLAG_DEFAULT, struct serve_options, readers),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t access_fields[] = {
    CYAML_FIELD_STRING_PTR("curve_secret_key", POINTER | OPTIONAL, struct access_options,
                           curve_secret_key, 1, MAX_PATH_BYTES),
    CYAML_FIELD_STRING_PTR("clients", POINTER | OPTIONAL, struct access_options, clients, 1,
                           MAX_PATH_BYTES),
    CYAML_FIELD_UINT("max_clients_per_key", CYAML_FLAG_DEFAULT, struct access_options,
                     max_clients_per_key),
    FIELD_ENUM("allow_plaintext", STRICT, struct access_options, allow_plaintext, truth_names),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t observe_fields[] = {
    FIELD_ENUM("log", STRICT, struct observe_options, log, log_names),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t state_fields[] = {
    CYAML_FIELD_STRING_PTR("directory", POINTER | OPTIONAL, struct state_options, directory, 1,
                           MAX_PATH_BYTES),
    CYAML_FIELD_UINT("snapshot_every", CYAML_FLAG_DEFAULT, struct state_options, snapshot_every),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t config_fields[] = {
    CYAML_FIELD_STRING_PTR("job", POINTER, struct config, job, 1, MAX_NAME_BYTES),
    CYAML_FIELD_UINT("seed", CYAML_FLAG_DEFAULT, struct config, seed),
    CYAML_FIELD_SEQUENCE_COUNT("sources", POINTER, struct config, sources, source_count,
                               &source_value, 1, CONFIG_MAX_SOURCES),
    CYAML_FIELD_UINT("vocab_size", CYAML_FLAG_DEFAULT, struct config, vocab_size),
    CYAML_FIELD_MAPPING("parallel", CYAML_FLAG_DEFAULT, struct config, parallel, parallel_fields),
    CYAML_FIELD_UINT("context_window", CYAML_FLAG_DEFAULT, struct config, context_window),
    CYAML_FIELD_UINT("max_sequence_length", OPTIONAL, struct config, max_sequence_length),
    FIELD_ENUM("long_documents", STRICT, struct config, long_documents, long_documents_names),
    FIELD_ENUM("last_step", STRICT, struct config, last_step, last_step_names),
    FIELD_ENUM("on_bad_shard", STRICT, struct config, on_bad_shard, on_bad_shard_names),
    CYAML_FIELD_MAPPING("packing", CYAML_FLAG_DEFAULT, struct config, packing, packing_fields),
    CYAML_FIELD_MAPPING("sharding", CYAML_FLAG_DEFAULT, struct config, sharding, sharding_fields),
    CYAML_FIELD_MAPPING("cost", OPTIONAL, struct config, cost, cost_fields),
    CYAML_FIELD_MAPPING("serve", CYAML_FLAG_DEFAULT, struct config, serve, serve_fields),
    CYAML_FIELD_MAPPING("access", CYAML_FLAG_DEFAULT, struct config, access, access_fields),
    CYAML_FIELD_MAPPING("observe", CYAML_FLAG_DEFAULT, struct config, observe, observe_fields),
    CYAML_FIELD_MAPPING("state", CYAML_FLAG_DEFAULT, struct config, state, state_fields),
    CYAML_FIELD_END,
};

const cyaml_schema_value_t config_schema = { CYAML_VALUE_MAPPING(POINTER, struct config,
                                                                 config_fields) };

const cyaml_config_t config_cyaml = {
    .mem_fn = cyaml_mem,
    .log_level = CYAML_LOG_ERROR,
    .flags = CYAML_CFG_NO_ALIAS,
};

static const cyaml_schema_value_t *member(const cyaml_schema_value_t *mapping, const char *key,
                                          size_t bytes)
{
    if (mapping->type != CYAML_MAPPING)
        return NULL;
    for (const cyaml_schema_field_t *field = mapping->mapping.fields; field->key; field++)
        if (strlen(field->key) == bytes && !memcmp(field->key, key, bytes))
            return &field->value;
    return NULL;
}

const cyaml_schema_value_t *schema_find(const char *path)
{
    const cyaml_schema_value_t *value = &config_schema;
    while (value && *path) {
        if (*path == '[') {
            value = value->type == CYAML_SEQUENCE ? value->sequence.entry : NULL;
            path += strcspn(path, "]") + 1;
        } else {
            size_t bytes = strcspn(path, ".[");
            value = member(value, path, bytes);
            path += bytes;
        }
        path += *path == '.';
    }
    return value;
}

/* Between the words of "a, b and c"; `last` is "and" or "or". */
static void separate(FILE *file, size_t index, size_t count, const char *last)
{
    if (!index)
        return;
    if (index + 1 == count)
        fprintf(file, " %s ", last);
    else
        fputs(", ", file);
}

static void expect_enum(FILE *file, const cyaml_schema_value_t *value, const struct key_rule *rule)
{
    bool numbers = !(value->flags & STRICT);
    size_t count = value->enumeration.count + numbers;
    for (size_t i = 0; i < value->enumeration.count; i++) {
        separate(file, i, count, "or");
        fputs(value->enumeration.strings[i].str, file);
    }
    if (numbers)
        fprintf(file, " or a whole number from %" PRIu64 " to %" PRIu64, rule->min, rule->max);
}

static void expect(FILE *file, const cyaml_schema_value_t *value, const struct key_rule *rule)
{
    switch (value->type) {
    case CYAML_UINT:
        fprintf(file, "a whole number from %" PRIu64 " to %" PRIu64, rule->min, rule->max);
        break;
    case CYAML_FLOAT:
        fprintf(file, "a number from %g to %g", rule->least, rule->most);
        break;
    case CYAML_ENUM:
        expect_enum(file, value, rule);
        break;
    case CYAML_STRING:
        fprintf(file, "a text of %u to %u bytes", value->string.min, value->string.max);
        break;
    case CYAML_SEQUENCE:
        if (rule->word)
            fprintf(file, "%s or ", rule->word);
        fprintf(file, "a list [...] of %u to %u values", value->sequence.min, value->sequence.max);
        break;
    default:
        fputs("a mapping { key: value }", file);
    }
}

const char *schema_expected(const char *path, char *text, size_t bytes)
{
    const cyaml_schema_value_t *value = schema_find(path);
    const struct key_rule *rule = key_rule_find(path);
    FILE *file = value && rule ? fmemopen(text, bytes, "w") : NULL;
    if (!file)
        return "another value";
    expect(file, value, rule);
    fclose(file);
    text[bytes - 1] = 0;
    return text;
}

const char *schema_keys(const char *path, char *text, size_t bytes)
{
    const cyaml_schema_value_t *value = schema_find(path);
    FILE *file = value && value->type == CYAML_MAPPING ? fmemopen(text, bytes, "w") : NULL;
    if (!file)
        return "none";
    size_t count = 0;
    while (value->mapping.fields[count].key)
        count++;
    for (size_t i = 0; i < count; i++) {
        separate(file, i, count, "and");
        fputs(value->mapping.fields[i].key, file);
    }
    fclose(file);
    text[bytes - 1] = 0;
    return text;
}
