#include "config/derive.h"

#include <stdlib.h>
#include <string.h>

#include "config/keys.h"

static int derive_sources(struct document *document, const struct key_rule *rule, struct error *err)
{
    const yaml_node_t *sources = document_node(document, document_find(document, "sources").value);
    if (!sources || sources->type != YAML_SEQUENCE_NODE)
        return 0;
    size_t count = (size_t)(sources->data.sequence.items.top - sources->data.sequence.items.start);
    int status = 0;
    for (size_t i = 0; i < count && !status; i++) {
        char path[DOCUMENT_PATH_BYTES];
        snprintf(path, sizeof path, "sources[%zu]%s", i, rule->path + strlen("sources[]"));
        status = document_default(document, path, rule->standard, err);
    }
    return status;
}

int derive_document(struct document *document, struct error *err)
{
    int status = 0;
    for (const struct key_rule *rule = key_rules; rule->path && !status; rule++) {
        if (!rule->standard)
            continue;
        if (strstr(rule->path, "[]"))
            status = derive_sources(document, rule, err);
        else
            status = document_default(document, rule->path, rule->standard, err);
    }
    return status;
}

bool derive_take_auto(struct document *document)
{
    const char *path = "packing.outlier_thresholds";
    const yaml_node_t *node = document_node(document, document_find(document, path).value);
    if (!node || node->type != YAML_SCALAR_NODE ||
        strcmp((const char *)node->data.scalar.value, key_rule_find(path)->word) != 0)
        return false;
    document_remove(document, path);
    return true;
}

/* Policies that never fill a micro-batch beyond the window need no more room. */
static uint32_t default_max_sequence_length(const struct config *config)
{
    const char *policy = config->packing.policy;
    bool fixed = !strcmp(policy, "plain") || !strncmp(policy, "fixed-", 6);
    return fixed ? config->context_window : 2 * config->context_window;
}

/* S/4 and 5S/8: the paper's two queues at its window, 32K and 80K of 128K. */
static int default_thresholds(struct config *config, struct error *err)
{
    uint64_t *thresholds = malloc(2 * sizeof *thresholds);
    if (!thresholds)
        return error_memory(err, "filling in defaults");
    uint64_t window = config->context_window;
    thresholds[0] = window < 4 ? 1 : window / 4;
    thresholds[1] = 5 * window / 8;
    if (thresholds[1] <= thresholds[0])
        thresholds[1] = thresholds[0] + 1;
    config->packing.outlier_thresholds = thresholds;
    config->packing.outlier_threshold_count = 2;
    return 0;
}

static void complete_model(struct config *config)
{
    struct cost_shape *model = &config->cost.model;
    if (!model->layers)
        return;
    if (!model->kv_heads)
        model->kv_heads = model->heads;
    if (!model->vocab)
        model->vocab = config->vocab_size;
    if (!model->tp)
        model->tp = config->parallel.tp;
}

int derive_config(struct config *config, struct error *err)
{
    config->sharding.ranks = config->parallel.cp;
    if (!config->max_sequence_length)
        config->max_sequence_length = default_max_sequence_length(config);
    complete_model(config);
    for (unsigned i = 0; i < config->source_count; i++)
        config->sources[i].leave_out_bad = config->on_bad_shard == BAD_SHARD_SKIP;
    const struct pack_options *packing = &config->packing;
    bool given = packing->auto_thresholds || packing->outlier_threshold_count > 0;
    return given ? 0 : default_thresholds(config, err);
}
