#include "ctl/simulate_variants.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "pack/pack.h"

#define NAME_BYTES 64

const char *variant_policy(const struct variant *variant)
{
    return variant->config->packing.policy;
}

const char *variant_sharding(const struct variant *variant)
{
    return cp_strategy_name(variant->config->sharding.strategy);
}

/* The next name of a list by commas; false at its end. A name that is too long is cut. */
static bool next_name(const char **list, char name[NAME_BYTES])
{
    if (!*list)
        return false;
    size_t length = strcspn(*list, ",");
    snprintf(name, NAME_BYTES, "%.*s", (int)length, *list);
    *list = (*list)[length] ? *list + length + 1 : NULL;
    return true;
}

/* One that this build lacks is a matter of the configuration, which says what to do about it. */
static bool is_policy(const char *name)
{
    return pack_policy_find(name) || pack_policy_lacks(name);
}

static bool is_sharding(const char *name)
{
    for (int strategy = 0; strategy < CP_STRATEGY_COUNT; strategy++)
        if (!strcmp(cp_strategy_name((enum cp_strategy)strategy), name))
            return true;
    return false;
}

static void list_policies(char *text, size_t bytes)
{
    for (const struct pack_policy *const *policy = pack_policies; *policy; policy++) {
        size_t used = strlen(text);
        snprintf(text + used, bytes - used, "%s%s", used ? ", " : "", (*policy)->name);
    }
}

static void list_shardings(char *text, size_t bytes)
{
    for (int strategy = 0; strategy < CP_STRATEGY_COUNT; strategy++) {
        size_t used = strlen(text);
        snprintf(text + used, bytes - used, "%s%s", used ? ", " : "",
                 cp_strategy_name((enum cp_strategy)strategy));
    }
}

static int check_names(const char *option, const char *list, bool (*known)(const char *),
                       void (*list_known)(char *, size_t), struct error *err)
{
    char name[NAME_BYTES], choice[256] = "";
    while (next_name(&list, name)) {
        if (known(name))
            continue;
        list_known(choice, sizeof choice);
        return error_set(err, EX_USAGE, "--%s: found '%s', expected names by commas, of %s", option,
                         name, choice);
    }
    return 0;
}

/* The job, with one or two more overrides behind those of the command line; no sharding is NULL. */
static int load_with(const struct arguments *arguments, const char *policy, const char *sharding,
                     struct config **ret_config, struct error *err)
{
    size_t given = arguments->override_count;
    struct config_override *overrides = calloc(given + 2, sizeof *overrides);
    if (!overrides)
        return error_memory(err, "reading the configuration");
    if (given)
        memcpy(overrides, arguments->overrides, given * sizeof *overrides);
    overrides[given] = (struct config_override){ "packing.policy", policy };
    overrides[given + 1] = (struct config_override){ "sharding.strategy", sharding };
    size_t count = given + (sharding ? 2 : 1);
    int status =
        config_load(argument_text(arguments, OPTION_CONFIG, ""), overrides, count, ret_config, err);
    free(overrides);
    return status;
}

static int add(struct variants *variants, const struct arguments *arguments, const char *policy,
               const char *sharding, struct error *err)
{
    for (size_t i = 0; i < variants->count; i++)
        if (!strcmp(variant_policy(&variants->items[i]), policy) &&
            !strcmp(variant_sharding(&variants->items[i]), sharding))
            return 0;
    if (!grow(variants->items, &variants->capacity, variants->count + 1))
        return error_memory(err, "listing what to simulate");
    struct variant variant = { 0 };
    int status = load_with(arguments, policy, sharding, &variant.config, err);
    if (status == 0)
        variants->items[variants->count++] = variant;
    return status;
}

static int add_shardings(struct variants *variants, const struct arguments *arguments,
                         const char *policy, struct error *err)
{
    const char *own = cp_strategy_name(variants->job->sharding.strategy);
    const char *list = argument_text(arguments, OPTION_SHARDINGS, own);
    char name[NAME_BYTES];
    int status = 0;
    while (!status && next_name(&list, name))
        status = add(variants, arguments, policy, name, err);
    return status;
}

static int add_policies(struct variants *variants, const struct arguments *arguments,
                        struct error *err)
{
    int status = 0;
    if (argument_given(arguments, OPTION_POLICIES)) {
        const char *list = argument_text(arguments, OPTION_POLICIES, "");
        char name[NAME_BYTES];
        while (!status && next_name(&list, name))
            status = add_shardings(variants, arguments, name, err);
        return status;
    }
    /* Policies for studies take their time: they run when they are asked for. */
    for (const struct pack_policy *const *policy = pack_policies; *policy && !status; policy++)
        if (!(*policy)->study_only)
            status = add_shardings(variants, arguments, (*policy)->name, err);
    return status;
}

int variants_load(struct variants *variants, const struct arguments *arguments, struct error *err)
{
    *variants = (struct variants){ 0 };
    int status = check_names("policies", argument_text(arguments, OPTION_POLICIES, NULL), is_policy,
                             list_policies, err);
    if (status == 0)
        status = check_names("shardings", argument_text(arguments, OPTION_SHARDINGS, NULL),
                             is_sharding, list_shardings, err);
    if (status == 0)
        status = config_load(argument_text(arguments, OPTION_CONFIG, ""), arguments->overrides,
                             arguments->override_count, &variants->job, err);
    if (status == 0)
        status = add(variants, arguments, "plain", cp_strategy_name(CP_PER_SEQUENCE), err);
    return status ? status : add_policies(variants, arguments, err);
}

int variants_load_roomy(const struct arguments *arguments, struct config **ret_config,
                        struct error *err)
{
    return load_with(arguments, "wlb", NULL, ret_config, err);
}

void variants_fini(struct variants *variants)
{
    for (size_t i = 0; i < variants->count; i++) {
        simulation_fini(&variants->items[i].simulation);
        config_free(variants->items[i].config);
    }
    free(variants->items);
    config_free(variants->job);
    *variants = (struct variants){ 0 };
}
