#include "config/settings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "config/document.h"

/* Every member of a configuration that may change, whole; weights come on top. */
static const char *const changeable[] = { "parallel",
                                          "context_window",
                                          "max_sequence_length",
                                          "long_documents",
                                          "last_step",
                                          "packing",
                                          "sharding",
                                          "cost" };

#define CHANGEABLE (sizeof changeable / sizeof *changeable)

/* ---- writing: one line, every scalar in double quotes ---- */

static void write_scalar(FILE *file, const yaml_node_t *node)
{
    fputc('"', file);
    for (size_t i = 0; i < node->data.scalar.length; i++) {
        unsigned char c = node->data.scalar.value[i];
        if (c == '"' || c == '\\')
            fprintf(file, "\\%c", c);
        else if (c < ' ' || c == 127 || c == ';')
            fprintf(file, "\\x%02x", c);
        else
            fputc(c, file);
    }
    fputc('"', file);
}

/* The configuration is three deep, and config_print wrote it. */
static void write_value(FILE *file, const struct document *document, int index)
{
    const yaml_node_t *node = document_node(document, index);
    if (node->type == YAML_SCALAR_NODE) {
        write_scalar(file, node);
    } else if (node->type == YAML_SEQUENCE_NODE) {
        fputc('[', file);
        for (const yaml_node_item_t *item = node->data.sequence.items.start;
             item < node->data.sequence.items.top; item++) {
            fputs(item > node->data.sequence.items.start ? ", " : "", file);
            write_value(file, document, *item);
        }
        fputc(']', file);
    } else {
        fputc('{', file);
        for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
             pair < node->data.mapping.pairs.top; pair++) {
            fputs(pair > node->data.mapping.pairs.start ? ", " : "", file);
            write_value(file, document, pair->key);
            fputs(": ", file);
            write_value(file, document, pair->value);
        }
        fputc('}', file);
    }
}

static void write_settings(FILE *file, const struct document *document, const struct config *config)
{
    char path[DOCUMENT_PATH_BYTES];
    for (size_t i = 0; i < CHANGEABLE; i++) {
        int value = document_find(document, changeable[i]).value;
        if (!value)
            continue;
        fprintf(file, "%s=", changeable[i]);
        write_value(file, document, value);
        fputc('\n', file);
    }
    for (unsigned i = 0; i < config->source_count; i++) {
        snprintf(path, sizeof path, "sources[%u].weight", i);
        fprintf(file, "sources.%s.weight=", config->sources[i].name);
        write_value(file, document, document_find(document, path).value);
        fputc('\n', file);
    }
}

/* What config_check_successor looks at; the names of sources come with their weights. */
static void write_identity(FILE *file, const struct document *document, const struct config *config)
{
    static const char *const keys[] = { "job", "seed", "vocab_size" };
    char path[DOCUMENT_PATH_BYTES];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        fprintf(file, "%s=", keys[i]);
        write_value(file, document, document_find(document, keys[i]).value);
        fputc('\n', file);
    }
    for (unsigned i = 0; i < config->source_count; i++) {
        snprintf(path, sizeof path, "sources[%u].epochs", i);
        fprintf(file, "sources.%s.epochs=", config->sources[i].name);
        write_value(file, document, document_find(document, path).value);
        fputc('\n', file);
    }
}

static int write_all(const struct document *document, const struct config *config, bool identity,
                     char **ret_text, struct error *err)
{
    static const char what[] = "writing settings down";
    struct text text;
    int status = text_open(&text, what, err);
    if (status)
        return status;
    if (identity)
        write_identity(text.file, document, config);
    write_settings(text.file, document, config);
    return text_close(&text, what, ret_text, NULL, err);
}

static int describe(const struct config *config, bool identity, char **ret_text, struct error *err)
{
    char *printed = NULL;
    struct document document;
    int status = config_print(config, &printed, err);
    if (status)
        return status;
    status = document_init(&document, "configuration", printed, strlen(printed), NULL, 0, err);
    free(printed);
    if (!status)
        status = write_all(&document, config, identity, ret_text, err);
    document_fini(&document);
    return status;
}

int config_settings(const struct config *config, char **ret_text, struct error *err)
{
    return describe(config, false, ret_text, err);
}

int config_description(const struct config *config, char **ret_text, struct error *err)
{
    return describe(config, true, ret_text, err);
}

/* ---- reading ---- */

/* Splits `text`, which is changed, at its ends of lines and signs of equality. */
static int split(char *text, struct config_override *overrides, size_t most, size_t *ret_count,
                 struct error *err)
{
    size_t count = 0;
    for (char *line = text, *end; *line; line = end) {
        end = strchr(line, '\n');
        char *equals = strchr(line, '=');
        if (!end || !equals || equals > end || count == most)
            return error_set(err, EX_CONFIG, "settings: expected lines of KEY=VALUE");
        *end++ = *equals = '\0';
        overrides[count++] = (struct config_override){ line, equals + 1 };
    }
    *ret_count = count;
    return 0;
}

static size_t count_lines(const char *text)
{
    size_t count = 0;
    for (; (text = strchr(text, '\n')); text++)
        count++;
    return count;
}

static int apply(const struct config *config, char *settings, struct config_override *overrides,
                 size_t most, struct config **ret_config, struct error *err)
{
    char *printed = NULL;
    size_t count = 0;
    int status = split(settings, overrides, most, &count, err);
    if (!status)
        status = config_print(config, &printed, err);
    if (!status)
        status = config_parse("settings of the ledger", printed, strlen(printed), overrides, count,
                              ret_config, err);
    free(printed);
    return status;
}

int config_with_settings(const struct config *config, const char *settings,
                         struct config **ret_config, struct error *err)
{
    size_t most = count_lines(settings);
    char *copy = strdup(settings);
    struct config_override *overrides = calloc(most + 1, sizeof *overrides);
    int status = copy && overrides ? apply(config, copy, overrides, most, ret_config, err)
                                   : error_memory(err, "reading settings");
    free(copy);
    free(overrides);
    return status;
}

/* ---- comparing ---- */

static int must_stay(const char *key, struct error *err)
{
    return error_set(err, EX_CONFIG,
                     "%s differs from that of the job, and cannot change while the job lives: the "
                     "order of documents rests on it",
                     key);
}

static int check_source(const struct source_spec *was, const struct source_spec *now,
                        struct error *err)
{
    char key[DOCUMENT_PATH_BYTES];
    if (strcmp(was->name, now->name) != 0 || was->format != now->format) {
        snprintf(key, sizeof key, "the source %s", now->name);
        return must_stay(key, err);
    }
    snprintf(key, sizeof key, "epochs of source %s", now->name);
    return was->epochs == now->epochs ? 0 : must_stay(key, err);
}

int config_check_successor(const struct config *config, const struct config *changed,
                           struct error *err)
{
    if (strcmp(config->job, changed->job) != 0)
        return must_stay("job", err);
    if (config->seed != changed->seed)
        return must_stay("seed", err);
    if (config->vocab_size != changed->vocab_size)
        return must_stay("vocab_size", err);
    if (config->source_count != changed->source_count)
        return must_stay("the number of sources", err);
    int status = 0;
    for (unsigned i = 0; i < config->source_count && !status; i++)
        status = check_source(&config->sources[i], &changed->sources[i], err);
    return status;
}

static unsigned count_sources(const char *description)
{
    unsigned count = 0;
    for (; (description = strstr(description, ".epochs=")); description++)
        count++;
    return count;
}

int config_read_successor(const struct config *config, const char *description,
                          struct config **ret_config, struct error *err)
{
    struct config *changed = NULL;
    if (count_sources(description) != config->source_count)
        return must_stay("the number of sources", err);
    int status = config_with_settings(config, description, &changed, err);
    if (!status)
        status = config_check_successor(config, changed, err);
    if (status)
        config_free(changed);
    else
        *ret_config = changed;
    return status;
}

bool config_same_layout(const struct config *a, const struct config *b)
{
    return a->parallel.dp == b->parallel.dp && a->parallel.cp == b->parallel.cp &&
           a->parallel.microbatches == b->parallel.microbatches &&
           a->context_window == b->context_window &&
           a->max_sequence_length == b->max_sequence_length;
}
