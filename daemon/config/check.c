#include "config/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "config/access.h"
#include "config/keys.h"

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

static int check_job(const struct document *document, const struct config *config,
                     struct error *err)
{
    for (const char *c = config->job; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            return document_complain(document, "job", err,
                                     "holds a control character, expected one line of text");
    return 0;
}

static int check_source(const struct document *document, const struct config *config, size_t index,
                        struct error *err)
{
    const char *name = config->sources[index].name;
    char path[DOCUMENT_PATH_BYTES], format[DOCUMENT_PATH_BYTES], quoted[80];
    snprintf(path, sizeof path, "sources[%zu].name", index);
    snprintf(format, sizeof format, "sources[%zu].format", index);
    if (name[strspn(name, NAME_CHARACTERS)])
        return document_complain(document, path, err,
                                 "found %s, expected letters, digits, '.', '_' and '-' only",
                                 document_quote(name, quoted, sizeof quoted));
    for (size_t i = 0; i < index; i++)
        if (!strcmp(config->sources[i].name, name))
            return document_complain(document, path, err,
                                     "'%s' is the name of sources[%zu] too: give each source "
                                     "its own name",
                                     name, i);
    if (config->sources[index].format == SOURCE_MEGATRON && !config->vocab_size)
        return document_complain(document, format, err,
                                 "megatron sources need vocab_size, found none: write for example "
                                 "vocab_size: 50257 at the top level");
    return 0;
}

static int check_frame(const struct document *document, const struct config *config,
                       struct error *err)
{
    uint64_t count = (uint64_t)config->parallel.dp * config->parallel.microbatches;
    if (count > CONFIG_MAX_STEP_MICROBATCHES)
        return document_complain(document, "parallel", err,
                                 "dp x microbatches is %" PRIu64 ", expected at most %u", count,
                                 CONFIG_MAX_STEP_MICROBATCHES);
    if (config->max_sequence_length < config->context_window)
        return document_complain(document, "max_sequence_length", err,
                                 "found %u, expected at least context_window (%u)",
                                 config->max_sequence_length, config->context_window);
    return 0;
}

/* Says again what a module says of its own options, "KEY: what is wrong", with the place. */
static int module_refuses(const struct document *document, const struct error *reason,
                          struct error *err)
{
    if (reason->code != EX_CONFIG)
        return error_set(err, reason->code, "%s", reason->text);
    char path[DOCUMENT_PATH_BYTES];
    size_t bytes = strcspn(reason->text, ": ");
    snprintf(path, sizeof path, "%.*s", (int)bytes, reason->text);
    return document_complain(document, path, err, "%s",
                             reason->text + bytes + strspn(reason->text + bytes, ": "));
}

static int unknown_policy(const struct document *document, const char *policy, struct error *err)
{
    const char *package = pack_policy_lacks(policy);
    if (package)
        return document_complain(document, "packing.policy", err,
                                 "this build has no '%s': install %s and build Ballast again, or "
                                 "use fixed-greedy",
                                 policy, package);
    char quoted[80], names[160] = "";
    for (const struct pack_policy *const *p = pack_policies; *p; p++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", (*p)->name);
    }
    return document_complain(document, "packing.policy", err, "found %s, expected one of %s",
                             document_quote(policy, quoted, sizeof quoted), names);
}

static int check_thresholds(const struct document *document, const struct pack_options *packing,
                            struct error *err)
{
    for (unsigned i = 1; i < packing->outlier_threshold_count; i++) {
        uint64_t before = packing->outlier_thresholds[i - 1];
        if (packing->outlier_thresholds[i] > before)
            continue;
        char path[DOCUMENT_PATH_BYTES];
        snprintf(path, sizeof path, "packing.outlier_thresholds[%u]", i);
        return document_complain(document, path, err,
                                 "found %" PRIu64 " behind %" PRIu64
                                 ", expected more: thresholds rise",
                                 packing->outlier_thresholds[i], before);
    }
    return 0;
}

/* The policy knows best whether it can work with its options: it is opened, and closed again. */
static int check_packing(const struct document *document, const struct config *config,
                         const struct cost_model *cost, struct error *err)
{
    const struct pack_policy *policy = pack_policy_find(config->packing.policy);
    if (!policy)
        return unknown_policy(document, config->packing.policy, err);
    int status = check_thresholds(document, &config->packing, err);
    if (status)
        return status;
    struct pack_shape shape = {
        .microbatches = config_step_microbatches(config),
        .window = config->context_window,
        .max_tokens = config->max_sequence_length,
        .cost = *cost,
    };
    void *state;
    struct error reason = { 0 };
    if (policy->open(&shape, &config->packing, &state, &reason))
        return module_refuses(document, &reason, err);
    policy->close(state);
    return 0;
}

/* Which of the keys of `cost` are there: one of three, and those that go with it. */
static int check_cost_keys(const struct document *document, struct error *err)
{
    static const char *const ways[] = { "cost.crossover_tokens", "cost.model", "cost.table" };
    const char *found = NULL;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (!document_find(document, ways[i]).value)
            continue;
        if (found)
            return document_complain(document, ways[i], err,
                                     "found %s too, expected exactly one of crossover_tokens, "
                                     "model and table",
                                     found);
        found = ways[i];
    }
    if (!found)
        return document_complain(
            document, "cost", err,
            "found none of crossover_tokens, model and table, expected exactly "
            "one: write for example cost: { crossover_tokens: 24576 }");
    if (found != ways[2] && document_find(document, "cost.extrapolate").value)
        return document_complain(document, "cost.extrapolate", err,
                                 "found it without cost.table, which alone it is for: remove it");
    return 0;
}

static int check_cost(const struct document *document, const struct config *config,
                      struct cost_model *ret_cost, struct error *err)
{
    int status = check_cost_keys(document, err);
    if (status)
        return status;
    struct error reason = { 0 };
    if (cost_model_init(ret_cost, &config->cost, &reason))
        return module_refuses(document, &reason, err);
    if (config->cost.table && !config->cost.extrapolate &&
        config->context_window > config->cost.measured.longest)
        return document_complain(document, "cost.table", err,
                                 "was measured for documents of up to %" PRIu32 " tokens, expected "
                                 "context_window (%" PRIu32 "): measure longer documents, or write "
                                 "cost.extrapolate: true to let the last two lengths decide",
                                 config->cost.measured.longest, config->context_window);
    if (!cost_fits(ret_cost, config->context_window, config->max_sequence_length))
        return document_complain(document, "cost", err,
                                 "the workload of a micro-batch of %" PRIu32
                                 " tokens does not fit 63 bits: check cost and context_window",
                                 config->max_sequence_length);
    return 0;
}

/* "HOST:PORT", PORT being a number or * for any free one. */
static bool is_tcp_address(const char *address)
{
    const char *colon = strrchr(address, ':');
    if (!colon || colon == address || strpbrk(address, " \t/"))
        return false;
    const char *port = colon + 1;
    size_t digits = strspn(port, "0123456789");
    if (!strcmp(port, "*"))
        return true;
    return digits && digits <= 5 && !port[digits] && strtoul(port, NULL, 10) <= 65535;
}

static int check_endpoint(const struct document *document, const char *path, const char *endpoint,
                          struct error *err)
{
    char quoted[128];
    const char *scheme_end = strstr(endpoint, "://");
    size_t scheme = scheme_end ? (size_t)(scheme_end - endpoint) : 0;
    size_t longest = sizeof((struct sockaddr_un *)NULL)->sun_path - 1;
    if (scheme == 3 && !strncmp(endpoint, "tcp", 3) && is_tcp_address(scheme_end + 3))
        return 0;
    if (scheme == 3 && !strncmp(endpoint, "ipc", 3) && scheme_end[3] &&
        strlen(scheme_end + 3) <= longest)
        return 0;
    return document_complain(document, path, err,
                             "found %s, expected tcp://HOST:PORT or ipc://PATH (a path of at most "
                             "%zu bytes)",
                             document_quote(endpoint, quoted, sizeof quoted), longest);
}

static int check_serve(const struct document *document, const struct serve_options *serve,
                       struct error *err)
{
    int status = check_endpoint(document, "serve.endpoint", serve->endpoint, err);
    if (!status)
        status = check_endpoint(document, "serve.admin", serve->admin, err);
    if (!status && !strcmp(serve->endpoint, serve->admin))
        status = document_complain(document, "serve", err,
                                   "endpoint and admin are the same, expected two sockets");
    return status;
}

int check_config(const struct document *document, const struct config *config, struct error *err)
{
    struct cost_model cost;
    int status = check_job(document, config, err);
    for (unsigned i = 0; i < config->source_count && !status; i++)
        status = check_source(document, config, i, err);
    if (!status)
        status = check_frame(document, config, err);
    if (!status)
        status = check_cost(document, config, &cost, err);
    if (!status)
        status = check_packing(document, config, &cost, err);
    if (!status)
        status = check_serve(document, &config->serve, err);
    if (!status)
        status = check_access(document, config, err);
    return status;
}
