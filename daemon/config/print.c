#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/document.h"
#include "config/schema.h"

/* The shortest decimal that reads back as the same number; libcyaml would write 17 digits. */
static const char *shortest(double value, char text[32])
{
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, 32, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    return text;
}

static int shorten_numbers(struct document *document, const struct config *config,
                           struct error *err)
{
    char number[32];
    for (unsigned i = 0; i < config->source_count; i++) {
        char path[DOCUMENT_PATH_BYTES];
        snprintf(path, sizeof path, "sources[%u].weight", i);
        int status =
            document_set_text(document, path, shortest(config->sources[i].weight, number), err);
        if (status)
            return status;
    }
    int status = document_set_text(document, "packing.balance",
                                   shortest(config->packing.balance, number), err);
    if (status)
        return status;
    if (config->cost.model.tflops > 0)
        return document_set_text(document, "cost.model.tflops",
                                 shortest(config->cost.model.tflops, number), err);
    return 0;
}

/* libcyaml writes optional numbers and sections whether they were given or not. */
static void remove_absent(struct document *document, const struct cost_options *cost)
{
    if (!cost->crossover_tokens)
        document_remove(document, "cost.crossover_tokens");
    if (!cost->model.layers)
        document_remove(document, "cost.model");
    if (!(cost->model.tflops > 0))
        document_remove(document, "cost.model.tflops");
    if (!cost->table)
        document_remove(document, "cost.extrapolate");
}

static int write_document(struct document *document, const struct config *config, char **ret_text,
                          struct error *err)
{
    remove_absent(document, &config->cost);
    int status = shorten_numbers(document, config, err);
    if (status)
        return status;
    return document_text(document, false, ret_text, NULL, err);
}

int config_print(const struct config *config, char **ret_text, struct error *err)
{
    /* A list holds the place of `auto`, for which libcyaml has none. */
    struct config shown = *config;
    uint64_t some_threshold = 1;
    if (config->packing.auto_thresholds) {
        shown.packing.outlier_thresholds = &some_threshold;
        shown.packing.outlier_threshold_count = 1;
    }
    char *saved;
    size_t bytes;
    cyaml_err_t code = cyaml_save_data(&saved, &bytes, &config_cyaml, &config_schema, &shown, 0);
    /* Of a configuration that was read, libyaml writes everything but what it has no memory for. */
    if (code == CYAML_ERR_OOM || code == CYAML_ERR_LIBYAML_EMITTER_INIT ||
        code == CYAML_ERR_LIBYAML_EVENT_INIT || code == CYAML_ERR_LIBYAML_EMITTER)
        return error_memory(err, "printing the configuration");
    if (code != CYAML_OK)
        return error_set(err, EX_SOFTWARE, "cannot print the configuration: %s",
                         cyaml_strerror(code));
    struct document document;
    int status = document_init(&document, "configuration", saved, bytes, NULL, 0, err);
    free(saved);
    if (!status && config->packing.auto_thresholds)
        status = document_replace(&document, "packing.outlier_thresholds", "auto", err);
    if (!status)
        status = write_document(&document, config, ret_text, err);
    document_fini(&document);
    return status;
}
