#include "parse.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OVERRIDES 8

static int parse(const char *text, const char *const *overrides, struct config **ret_config,
                 struct error *err)
{
    struct config_override list[MAX_OVERRIDES] = { 0 };
    char *keys[MAX_OVERRIDES];
    size_t count = 0;
    for (; overrides && overrides[count]; count++) {
        keys[count] = strdup(overrides[count]);
        char *equals = strchr(keys[count], '=');
        *equals = 0;
        list[count] = (struct config_override){ keys[count], equals + 1 };
    }
    int status = config_parse("job.yaml", text, strlen(text), list, count, ret_config, err);
    while (count)
        free(keys[--count]);
    return status;
}

struct config *must_parse(const char *text, const char *const *overrides)
{
    struct config *config = NULL;
    struct error err = { 0 };
    int status = parse(text, overrides, &config, &err);
    cr_assert_eq(status, 0, "refused: %s", err.text);
    return config;
}

int must_refuse(const char *text, const char *const *overrides, struct error *err)
{
    struct config *untouched = NULL;
    int status = parse(text, overrides, &untouched, err);
    cr_assert_neq(status, 0, "accepted:\n%s", text);
    cr_assert_null(untouched);
    cr_assert_eq(err->code, status);
    return status;
}

char *must_print(const struct config *config)
{
    char *text = NULL;
    struct error err = { 0 };
    int status = config_print(config, &text, &err);
    cr_assert_eq(status, 0, "%s", err.text);
    return text;
}
