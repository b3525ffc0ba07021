/* From the document to struct config by libcyaml, whose refusals become errors for people. */
#ifndef BALLAST_CONFIG_EXPLAIN_H
#define BALLAST_CONFIG_EXPLAIN_H

#include "config/config.h"
#include "config/document.h"

/* On success *ret_config is the caller's until config_free. EX_CONFIG or EX_OSERR. */
int document_convert(const struct document *document, struct config **ret_config,
                     struct error *err);

#endif
