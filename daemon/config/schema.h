/* The libcyaml schema of the configuration, and questions to it. */
#ifndef BALLAST_CONFIG_SCHEMA_H
#define BALLAST_CONFIG_SCHEMA_H

#include <cyaml/cyaml.h>
#include <stddef.h>

/* Describes a heap-allocated struct config. */
extern const cyaml_schema_value_t config_schema;

/* Allocates with malloc, refuses aliases, does not log. */
extern const cyaml_config_t config_cyaml;

/* The type of the value at `path` (as in document.h); NULL when the schema has none. */
const cyaml_schema_value_t *schema_find(const char *path);

/* "a whole number from 1 to 65536", "split, truncate or drop": what may stand at `path`. */
const char *schema_expected(const char *path, char *text, size_t bytes);

/* The keys of the mapping at `path`: "dp, pp, cp, tp and microbatches". */
const char *schema_keys(const char *path, char *text, size_t bytes);

#endif
