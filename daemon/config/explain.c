#include "config/explain.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "config/keys.h"
#include "config/schema.h"

#define MAX_STEPS 12

/* One line of libcyaml's backtrace: where it stood, the innermost first. */
struct step {
    enum { STEP_FIELD, STEP_ENTRY, STEP_MAPPING } kind;
    char key[72];
    unsigned long entry; /* from 1; 0 before the first */
};

/* What libcyaml logged about its first error. */
struct refusal {
    char message[200];
    struct step steps[MAX_STEPS];
    size_t step_count;
};

static bool take_step(struct step *step, const char *line)
{
    const char *field = "  in mapping field '", *entry = "  in sequence entry '";
    if (!strncmp(line, field, strlen(field))) {
        line += strlen(field);
        step->kind = STEP_FIELD;
        snprintf(step->key, sizeof step->key, "%.*s", (int)strcspn(line, "'"), line);
        return true;
    }
    if (!strncmp(line, entry, strlen(entry))) {
        step->kind = STEP_ENTRY;
        step->entry = strtoul(line + strlen(entry), NULL, 10);
        return true;
    }
    step->kind = STEP_MAPPING;
    return !strncmp(line, "  in mapping ", strlen("  in mapping "));
}

__attribute__((format(printf, 3, 0))) static void record(cyaml_log_t level, void *context,
                                                         const char *format, va_list args)
{
    struct refusal *refusal = context;
    char line[sizeof refusal->message];
    vsnprintf(line, sizeof line, format, args);
    line[strcspn(line, "\n")] = 0;
    if (level != CYAML_LOG_ERROR)
        return;
    if (refusal->step_count < MAX_STEPS && take_step(&refusal->steps[refusal->step_count], line))
        refusal->step_count++;
    else if (!*refusal->message)
        memcpy(refusal->message, line, sizeof line);
}

/* The word behind the colon: "Load: Unexpected key: WORD". */
static const char *named_key(const struct refusal *refusal)
{
    const char *colon = strstr(refusal->message, "key: ");
    if (!colon)
        colon = strstr(refusal->message, "field: ");
    return colon ? strchr(colon, ' ') + 1 : "";
}

/* Joins all steps but the `skipped` innermost. */
static void join_path(const struct refusal *refusal, size_t skipped, char *path, size_t bytes)
{
    size_t used = 0;
    *path = 0;
    for (size_t i = refusal->step_count; i-- > skipped;) {
        const struct step *step = &refusal->steps[i];
        int wrote = 0;
        if (step->kind == STEP_FIELD)
            wrote = snprintf(path + used, bytes - used, "%s%s", used ? "." : "", step->key);
        else if (step->kind == STEP_ENTRY && step->entry)
            wrote = snprintf(path + used, bytes - used, "[%lu]", step->entry - 1);
        used += (size_t)wrote;
        if (used >= bytes)
            used = bytes - 1;
    }
}

static int explain_unknown(const struct document *document, const struct refusal *refusal,
                           struct error *err)
{
    char path[DOCUMENT_PATH_BYTES], keys[256], quoted[80];
    join_path(refusal, 0, path, sizeof path);
    const char *key = named_key(refusal);
    struct place mapping = document_find(document, path);
    struct place place = document_member(document, mapping.value, key, strlen(key));
    return document_complain_at(
        document, place.value ? place : mapping, path, err, "unknown key %s, expected one of %s",
        document_quote(key, quoted, sizeof quoted), schema_keys(path, keys, sizeof keys));
}

static int explain_missing(const struct document *document, const struct refusal *refusal,
                           struct error *err)
{
    char path[DOCUMENT_PATH_BYTES];
    bool inside = refusal->step_count && refusal->steps[0].kind != STEP_ENTRY;
    join_path(refusal, inside, path, sizeof path);
    const char *key = named_key(refusal);
    char whole[2 * DOCUMENT_PATH_BYTES];
    snprintf(whole, sizeof whole, "%s%s%s", path, *path ? "." : "", key);
    const struct key_rule *rule = key_rule_find(whole);
    return document_complain(document, path, err, "the key '%s' is missing: write for example %s",
                             key, rule && rule->example ? rule->example : key);
}

static int explain_value(const struct document *document, const struct refusal *refusal,
                         bool whole_list, struct error *err)
{
    char path[DOCUMENT_PATH_BYTES], found[80], expected[200];
    bool inside = whole_list && refusal->step_count && refusal->steps[0].kind == STEP_ENTRY;
    join_path(refusal, inside, path, sizeof path);
    struct place place = document_find(document, path);
    return document_complain(document, path, err, "found %s, expected %s",
                             document_found(document, place, found, sizeof found),
                             schema_expected(path, expected, sizeof expected));
}

static int explain(const struct document *document, cyaml_err_t code, const struct refusal *refusal,
                   struct error *err)
{
    switch (code) {
    case CYAML_ERR_OOM:
    case CYAML_ERR_LIBYAML_PARSER_INIT:
    case CYAML_ERR_LIBYAML_PARSER: /* of a text that libyaml wrote itself */
        return error_memory(err, "reading the configuration");
    case CYAML_ERR_INVALID_KEY:
        return explain_unknown(document, refusal, err);
    case CYAML_ERR_MAPPING_FIELD_MISSING:
        return explain_missing(document, refusal, err);
    case CYAML_ERR_SEQUENCE_ENTRIES_MIN:
    case CYAML_ERR_SEQUENCE_ENTRIES_MAX:
        return explain_value(document, refusal, true, err);
    default:
        return explain_value(document, refusal, false, err);
    }
}

int document_convert(const struct document *document, struct config **ret_config, struct error *err)
{
    char *text = NULL;
    size_t bytes = 0;
    /* libcyaml reads text; double quotes hold whatever the document may hold. */
    int status = document_text(document, true, &text, &bytes, err);
    if (status)
        return status;
    struct refusal refusal = { 0 };
    cyaml_config_t cyaml = config_cyaml;
    cyaml.log_fn = record;
    cyaml.log_ctx = &refusal;
    void *config = NULL;
    cyaml_err_t code =
        cyaml_load_data((const uint8_t *)text, bytes, &cyaml, &config_schema, &config, NULL);
    free(text);
    if (code != CYAML_OK)
        return explain(document, code, &refusal, err);
    *ret_config = config;
    return 0;
}
