#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "config/config.h"

/* Names of values never change their spelling here: old job digests would. */
static const char *long_documents_text(enum long_documents value)
{
    switch (value) {
    case LONG_SPLIT:
        return "split";
    case LONG_TRUNCATE:
        return "truncate";
    default:
        return "drop";
    }
}

/* What the table says for this job, wherever it lies and whatever else stands in it. */
static void write_table(FILE *file, const struct cost_table *table)
{
    fprintf(file, "cost table cp=%" PRIu32 " linear=%" PRIu64 " attention=", table->cp,
            table->linear);
    for (uint32_t i = 1; i < table->attention.count; i++)
        fprintf(file, "%s%" PRIu32 ":%" PRIu64, i > 1 ? "," : "", table->attention.knots[i].tokens,
                table->attention.knots[i].at);
    fputc('\n', file);
}

/* What a device's fit gives for this job, which another version of Ballast may fit better. */
static void write_device(FILE *file, const struct cost_options *cost)
{
    struct cost_model model;
    if (!cost_model_init(&model, cost, NULL))
        fprintf(file,
                "cost device=%s linear=%" PRIu64 " attention=%" PRIu64 " quadratic=%" PRIu64 "\n",
                cost->device, model.linear, model.attention_linear, model.quadratic);
}

static void write_sources(FILE *file, const struct config *config)
{
    for (unsigned i = 0; i < config->source_count; i++) {
        const struct source_spec *source = &config->sources[i];
        fprintf(file, "source %s format=%s weight=%.17g epochs=%" PRIu32 "\n", source->name,
                source->format == SOURCE_MEGATRON ? "megatron" : "lengths", source->weight,
                source->epochs);
    }
}

static void write_packing(FILE *file, const struct config *config)
{
    const struct pack_options *packing = &config->packing;
    fprintf(file, "packing policy=%s window=%" PRIu32 " max_waiting_steps=%" PRIu32 " thresholds=",
            packing->policy, packing->window, packing->max_waiting_steps);
    if (packing->auto_thresholds && packing->outlier_threshold_count == 0)
        fputs("auto", file);
    for (unsigned i = 0; i < packing->outlier_threshold_count; i++)
        fprintf(file, "%s%" PRIu64, i ? "," : "", packing->outlier_thresholds[i]);
    fputc('\n', file);
    if (strcmp(packing->policy, "adaptive") == 0)
        fprintf(file, "adaptive balance=%.3f max_delay=%" PRIu32 "\n", packing->balance,
                packing->max_delay);
    if (strcmp(packing->policy, "adaptive") == 0 && packing->objective == PACK_STEP_TIME)
        fprintf(file, "objective step-time pp=%" PRIu32 "\n", config->parallel.pp);
    const struct pack_policy *policy = pack_policy_find(packing->policy);
    if (policy && policy->depends_on)
        fprintf(file, "solver library=%s nodes=%" PRIu64 "\n", policy->depends_on(),
                packing->solver_nodes);
}

static void write_cost(FILE *file, const struct cost_options *cost)
{
    const struct cost_shape *model = &cost->model;
    if (cost->table)
        write_table(file, &cost->measured);
    else if (cost->device)
        write_device(file, cost);
    else if (cost->crossover_tokens)
        fprintf(file, "cost crossover_tokens=%" PRIu64 "\n", cost->crossover_tokens);
    else
        fprintf(file,
                "cost layers=%" PRIu32 " hidden=%" PRIu32 " heads=%" PRIu32 " kv_heads=%" PRIu32
                " ffn=%" PRIu32 " vocab=%" PRIu32 " tp=%" PRIu32 " tflops=%.17g\n",
                model->layers, model->hidden, model->heads, model->kv_heads, model->ffn,
                model->vocab, model->tp, model->tflops);
}

static void write_plan(FILE *file, const struct config *config)
{
    fprintf(file, "seed=%" PRIu64 "\n", config->seed);
    write_sources(file, config);
    fprintf(file, "vocab_size=%" PRIu32 "\n", config->vocab_size);
    fprintf(file, "parallel dp=%" PRIu32 " cp=%" PRIu32 " microbatches=%" PRIu32 "\n",
            config->parallel.dp, config->parallel.cp, config->parallel.microbatches);
    fprintf(file, "context_window=%" PRIu32 "\nmax_sequence_length=%" PRIu32 "\n",
            config->context_window, config->max_sequence_length);
    fprintf(file, "long_documents=%s\nlast_step=%s\n", long_documents_text(config->long_documents),
            config->last_step == LAST_STEP_SERVE ? "serve" : "drop");
    write_packing(file, config);
    fprintf(file, "sharding strategy=%s tile=%" PRIu32 " pad_to_multiple=%" PRIu32 "\n",
            cp_strategy_name(config->sharding.strategy), config->sharding.tile,
            config->sharding.pad_to_multiple);
    write_cost(file, &config->cost);
}

int config_plan_text(const struct config *config, char **ret_text, struct error *err)
{
    static const char what[] = "writing the configuration down";
    struct text text;
    int status = text_open(&text, what, err);
    if (status)
        return status;
    write_plan(text.file, config);
    return text_close(&text, what, ret_text, NULL, err);
}
