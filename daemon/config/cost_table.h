/* Reading the cost table that a configuration names. */
#ifndef BALLAST_CONFIG_COST_TABLE_H
#define BALLAST_CONFIG_COST_TABLE_H

#include "config/config.h"
#include "config/document.h"

/*
 * Fills cost.measured from the file cost.table, if there is one: the rows of the job's tp and cp.
 * A relative path starts at the directory of the document's file, or where there is no such file
 * at the working directory, and is made absolute in the first case. EX_CONFIG or EX_OSERR.
 */
int config_read_cost_table(const struct document *document, struct config *config,
                           struct error *err);

#endif
