#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/check.h"
#include "config/keys.h"
#include "config/schema.h"

/* The place that the walk has come to. `path` has DOCUMENT_PATH_BYTES. */
struct walk {
    const struct document *document;
    struct error *err;
    char *path;
};

static const char *scalar_text(const struct walk *walk, struct place place)
{
    return (const char *)document_node(walk->document, place.value)->data.scalar.value;
}

/* Decimal, or hexadecimal behind 0x; strtoull alone would take signs and octal numbers. */
static bool whole_number(const char *text, uint64_t *ret_value)
{
    bool hexadecimal = !strncmp(text, "0x", 2);
    const char *digits = hexadecimal ? text + 2 : text;
    size_t count = strspn(digits, hexadecimal ? "0123456789abcdefABCDEF" : "0123456789");
    if (!count || digits[count] || (!hexadecimal && *digits == '0' && count > 1))
        return false;
    errno = 0;
    *ret_value = strtoull(digits, NULL, hexadecimal ? 16 : 10);
    return !errno;
}

static bool number(const char *text, double *ret_value)
{
    size_t count = strspn(text, "0123456789+-.eE");
    char *end;
    *ret_value = strtod(text, &end);
    return count && !text[count] && end == text + count && isfinite(*ret_value);
}

static int out_of_bounds(const struct walk *walk, struct place place)
{
    char found[80], expected[160];
    return document_complain_at(walk->document, place, walk->path, walk->err,
                                "found %s, expected %s",
                                document_found(walk->document, place, found, sizeof found),
                                schema_expected(walk->path, expected, sizeof expected));
}

static int check_scalar(const struct walk *walk, const cyaml_schema_value_t *schema,
                        struct place place)
{
    const struct key_rule *rule = key_rule_find(walk->path);
    const char *text = scalar_text(walk, place);
    uint64_t whole;
    double value;
    if (schema->type == CYAML_UINT &&
        !(whole_number(text, &whole) && whole >= rule->min && whole <= rule->max))
        return out_of_bounds(walk, place);
    if (schema->type == CYAML_FLOAT &&
        !(number(text, &value) && value >= rule->least && value <= rule->most))
        return out_of_bounds(walk, place);
    if (schema->type != CYAML_ENUM || schema->flags & CYAML_FLAG_STRICT)
        return 0;
    for (uint32_t i = 0; i < schema->enumeration.count; i++)
        if (!strcmp(text, schema->enumeration.strings[i].str))
            return 0;
    if (!(whole_number(text, &whole) && whole >= rule->min && whole <= rule->max))
        return out_of_bounds(walk, place);
    return 0;
}

static int check_value(const struct walk *walk, const cyaml_schema_value_t *schema,
                       struct place place);

static int check_items(const struct walk *walk, const cyaml_schema_value_t *schema,
                       struct place place)
{
    const yaml_node_t *node = document_node(walk->document, place.value);
    size_t used = strlen(walk->path);
    size_t count = (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
    int status = 0;
    for (size_t i = 0; i < count && !status; i++) {
        snprintf(walk->path + used, DOCUMENT_PATH_BYTES - used, "[%zu]", i);
        struct place item = { 0, node->data.sequence.items.start[i] };
        status = check_value(walk, schema->sequence.entry, item);
    }
    walk->path[used] = 0;
    return status;
}

static int check_members(const struct walk *walk, const cyaml_schema_value_t *schema,
                         struct place place)
{
    size_t used = strlen(walk->path);
    int status = 0;
    for (const cyaml_schema_field_t *field = schema->mapping.fields; field->key && !status;
         field++) {
        struct place member =
            document_member(walk->document, place.value, field->key, strlen(field->key));
        if (!member.value)
            continue;
        snprintf(walk->path + used, DOCUMENT_PATH_BYTES - used, "%s%s", used ? "." : "",
                 field->key);
        status = check_value(walk, &field->value, member);
    }
    walk->path[used] = 0;
    return status;
}

/* As deep as the schema. */
static int check_value(const struct walk *walk, const cyaml_schema_value_t *schema,
                       struct place place)
{
    if (schema->type == CYAML_MAPPING)
        return check_members(walk, schema, place);
    if (schema->type == CYAML_SEQUENCE)
        return check_items(walk, schema, place);
    return check_scalar(walk, schema, place);
}

int check_numbers(const struct document *document, struct error *err)
{
    char path[DOCUMENT_PATH_BYTES] = "";
    struct walk walk = { document, err, path };
    return check_value(&walk, &config_schema, (struct place){ 0, 1 });
}
