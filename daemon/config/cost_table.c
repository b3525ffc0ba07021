#include "config/cost_table.h"

#include <stdlib.h>
#include <string.h>

#include "config/beside.h"

int config_read_cost_table(const struct document *document, struct config *config,
                           struct error *err)
{
    struct cost_options *cost = &config->cost;
    if (!cost->table)
        return 0;
    char *path = path_beside(document->name, cost->table);
    if (!path)
        return error_memory(err, "reading the configuration");
    free(cost->table);
    cost->table = path;
    struct error reason = { 0 };
    int status =
        cost_table_load(path, config->parallel.tp, config->parallel.cp, &cost->measured, &reason);
    if (status == EX_CONFIG)
        return document_complain(document, "cost.table", err, "%s", reason.text);
    return status ? error_set(err, status, "%s", reason.text) : 0;
}
