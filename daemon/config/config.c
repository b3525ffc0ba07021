#include "config/config.h"

#include "config/access.h"
#include "config/check.h"
#include "config/cost_table.h"
#include "config/derive.h"
#include "config/document.h"
#include "config/explain.h"
#include "config/schema.h"

/* Names and values that an error quotes may hold anything. */
static void keep_to_one_line(struct error *err)
{
    for (char *c = err ? err->text : NULL; c && *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
}

int config_parse(const char *name, const char *text, size_t bytes,
                 const struct config_override *overrides, size_t override_count,
                 struct config **ret_config, struct error *err)
{
    struct document document;
    struct config *config = NULL;
    int status = document_init(&document, name, text, bytes, overrides, override_count, err);
    if (!status)
        status = derive_document(&document, err);
    bool auto_thresholds = !status && derive_take_auto(&document);
    if (!status)
        status = document_convert(&document, &config, err);
    if (!status)
        config->packing.auto_thresholds = auto_thresholds;
    if (!status)
        status = check_numbers(&document, err);
    if (!status)
        status = derive_config(config, err);
    if (!status)
        status = config_read_cost_table(&document, config, err);
    if (!status)
        status = config_place_access(&document, config, err);
    if (!status)
        status = check_config(&document, config, err);
    document_fini(&document);
    if (!status) {
        *ret_config = config;
        return 0;
    }
    keep_to_one_line(err);
    config_free(config);
    return status;
}

void config_free(struct config *config)
{
    if (config)
        cyaml_free(&config_cyaml, &config_schema, config, 0);
}

uint32_t config_step_microbatches(const struct config *config)
{
    return config->parallel.dp * config->parallel.microbatches;
}
