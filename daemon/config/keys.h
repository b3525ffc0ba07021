/* Every key of the configuration: bounds, default and example (the schema says the types). */
#ifndef BALLAST_CONFIG_KEYS_H
#define BALLAST_CONFIG_KEYS_H

#include <stddef.h>
#include <stdint.h>

#define CONFIG_MAX_SOURCES 1024u
#define CONFIG_MAX_STEP_MICROBATCHES 65536u

struct key_rule {
    const char *path;     /* as in document.h, `[]` standing for any index */
    uint64_t min, max;    /* of whole numbers */
    double least, most;   /* of other numbers */
    const char *standard; /* the default, or NULL: required, or config.h says how it is derived */
    const char *example;  /* what to write, for a key that is missing */
    const char *word;     /* may stand in place of a list */
};

/* All rules, in the order of the sample configuration; the last has no path. */
extern const struct key_rule key_rules[];

/* The rule of `path`, whose indices may be numbers; NULL when there is no such key. */
const struct key_rule *key_rule_find(const char *path);

#endif
