/* What the tests of the configuration share. */
#ifndef BALLAST_TESTS_CONFIG_PARSE_H
#define BALLAST_TESTS_CONFIG_PARSE_H

#include "config/config.h"

/* The shortest configuration there is: all that is required, the rest by default. */
#define SMALLEST                                                                                   \
    "job: small\n"                                                                                 \
    "sources:\n"                                                                                   \
    "  - { name: a, format: lengths, paths: [a.txt] }\n"                                           \
    "context_window: 4096\n"                                                                       \
    "cost: { crossover_tokens: 1024 }\n"

/* Parses as "job.yaml" with overrides "KEY=VALUE" (NULL-terminated, or NULL); fails the test when
 * refused. The caller's until config_free. */
struct config *must_parse(const char *text, const char *const *overrides);

/* Fails the test when it is accepted; returns the code and fills `err`. */
int must_refuse(const char *text, const char *const *overrides, struct error *err);

/* config_print, which must succeed. The caller's to free. */
char *must_print(const struct config *config);

#endif
