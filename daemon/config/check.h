/* What libcyaml's types cannot say: bounds, derived defaults, and how values go together. */
#ifndef BALLAST_CONFIG_CHECK_H
#define BALLAST_CONFIG_CHECK_H

#include "config/config.h"
#include "config/document.h"

/* Every number of a document that fits the schema: its spelling and its bounds. EX_CONFIG. */
int check_numbers(const struct document *document, struct error *err);

/* Everything else, once `config` is complete. EX_CONFIG or EX_OSERR. */
int check_config(const struct document *document, const struct config *config, struct error *err);

#endif
