#include "config/document.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "config/yaml_read.h"

#define QUOTE_BYTES 64

yaml_node_t *document_node(const struct document *document, int node)
{
    /* libyaml asks for a document it could change, but only reads. */
    return yaml_document_get_node((yaml_document_t *)(uintptr_t)&document->yaml, node);
}

static int read_text(struct document *document, const char *text, size_t bytes, struct error *err)
{
    struct yaml_fault fault;
    int status = yaml_read(text, bytes, &document->yaml, &fault);
    if (status && fault.line)
        return error_set(err, status, "%s:%zu: %s", document->name, fault.line, fault.text);
    if (status)
        return error_set(err, status, "%s: %s", document->name, fault.text);
    document->loaded = true;
    yaml_node_t *root = document_node(document, 1);
    if (!root)
        return error_set(err, EX_CONFIG,
                         "%s:1: empty, expected a mapping with at least job, sources, "
                         "context_window and cost: start from the sample ballast.yaml",
                         document->name);
    if (root->type != YAML_MAPPING_NODE)
        return error_set(err, EX_CONFIG,
                         "%s:%zu: found a %s at the top, expected a mapping (key: value lines)",
                         document->name, root->start_mark.line + 1,
                         root->type == YAML_SEQUENCE_NODE ? "list" : "single value");
    return 0;
}

static int node_count(const struct document *document)
{
    return (int)(document->yaml.nodes.top - document->yaml.nodes.start);
}

int document_init(struct document *document, const char *name, const char *text, size_t bytes,
                  const struct config_override *overrides, size_t override_count, struct error *err)
{
    *document = (struct document){ .name = name, .overrides = overrides };
    int status = read_text(document, text, bytes, err);
    if (status)
        return status;
    document->override_nodes = calloc(override_count + 1, sizeof *document->override_nodes);
    if (!document->override_nodes)
        return error_memory(err, "reading the configuration");
    document->override_nodes[0] = node_count(document) + 1;
    for (size_t i = 0; i < override_count; i++) {
        status = document_override(document, i, err);
        if (status)
            return status;
        document->override_count = i + 1;
        document->override_nodes[i + 1] = node_count(document) + 1;
    }
    return 0;
}

void document_fini(struct document *document)
{
    if (document->loaded)
        yaml_document_delete(&document->yaml);
    free(document->override_nodes);
    *document = (struct document){ 0 };
}

struct place document_member(const struct document *document, int mapping, const char *key,
                             size_t bytes)
{
    const yaml_node_t *node = document_node(document, mapping);
    if (!node || node->type != YAML_MAPPING_NODE)
        return (struct place){ 0, 0 };
    const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
    for (; pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *name = document_node(document, pair->key);
        if (name->data.scalar.length == bytes && !memcmp(name->data.scalar.value, key, bytes))
            return (struct place){ pair->key, pair->value };
    }
    return (struct place){ 0, 0 };
}

static struct place item(const struct document *document, int sequence, size_t index)
{
    const yaml_node_t *node = document_node(document, sequence);
    if (!node || node->type != YAML_SEQUENCE_NODE)
        return (struct place){ 0, 0 };
    const yaml_node_item_t *items = node->data.sequence.items.start;
    if (index >= (size_t)(node->data.sequence.items.top - items))
        return (struct place){ 0, 0 };
    return (struct place){ 0, items[index] };
}

/* Follows `path` as far as there are values; *ret_whole says whether that was to the end. */
static struct place follow(const struct document *document, const char *path, bool *ret_whole)
{
    struct place place = { 0, 1 };
    while (*path) {
        struct place next;
        size_t bytes = strcspn(path, ".[");
        if (*path == '[') {
            next = item(document, place.value, strtoul(path + 1, NULL, 10));
            bytes = strcspn(path, "]");
            bytes += path[bytes] == ']';
        } else {
            next = document_member(document, place.value, path, bytes);
        }
        if (!next.value)
            break;
        place = next;
        path += bytes;
        path += *path == '.';
    }
    *ret_whole = !*path;
    return place;
}

struct place document_find(const struct document *document, const char *path)
{
    bool whole;
    struct place place = follow(document, path, &whole);
    return whole ? place : (struct place){ 0, 0 };
}

static int add_scalar(struct document *document, const char *text)
{
    return yaml_document_add_scalar(&document->yaml, NULL, (const yaml_char_t *)text,
                                    (int)strlen(text), YAML_ANY_SCALAR_STYLE);
}

/* Appends `key` (of `bytes` bytes) with the value node `value`; false when out of memory. */
static bool append_member(struct document *document, int mapping, const char *key, size_t bytes,
                          int value)
{
    int name = yaml_document_add_scalar(&document->yaml, NULL, (const yaml_char_t *)key, (int)bytes,
                                        YAML_ANY_SCALAR_STYLE);
    return name && value &&
           yaml_document_append_mapping_pair(&document->yaml, mapping, name, value);
}

int document_default(struct document *document, const char *path, const char *text,
                     struct error *err)
{
    const char *dot = strrchr(path, '.'), *key = dot ? dot + 1 : path;
    char parent[DOCUMENT_PATH_BYTES];
    snprintf(parent, sizeof parent, "%.*s", dot ? (int)(dot - path) : 0, path);
    int mapping = document_find(document, parent).value;
    if (!mapping) {
        mapping = yaml_document_add_mapping(&document->yaml, NULL, YAML_ANY_MAPPING_STYLE);
        if (!append_member(document, 1, parent, strlen(parent), mapping))
            return error_memory(err, "filling in defaults");
    }
    bool fits = document_node(document, mapping)->type == YAML_MAPPING_NODE;
    if (!fits || document_member(document, mapping, key, strlen(key)).value)
        return 0;
    if (!append_member(document, mapping, key, strlen(key), add_scalar(document, text)))
        return error_memory(err, "filling in defaults");
    return 0;
}

int document_set_text(struct document *document, const char *path, const char *text,
                      struct error *err)
{
    yaml_node_t *node = document_node(document, document_find(document, path).value);
    char *copy = strdup(text);
    if (!copy)
        return error_memory(err, "printing the configuration");
    free(node->data.scalar.value);
    node->data.scalar.value = (yaml_char_t *)copy;
    node->data.scalar.length = strlen(copy);
    return 0;
}

int document_replace(struct document *document, const char *path, const char *text,
                     struct error *err)
{
    const char *dot = strrchr(path, '.');
    char parent[DOCUMENT_PATH_BYTES];
    snprintf(parent, sizeof parent, "%.*s", dot ? (int)(dot - path) : 0, path);
    int mapping = document_find(document, parent).value, key = document_find(document, path).key;
    int value = add_scalar(document, text);
    if (!value)
        return error_memory(err, "printing the configuration");
    const yaml_node_t *node = document_node(document, mapping);
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++)
        if (pair->key == key)
            pair->value = value;
    return 0;
}

void document_remove(struct document *document, const char *path)
{
    const char *dot = strrchr(path, '.');
    char parent[DOCUMENT_PATH_BYTES];
    snprintf(parent, sizeof parent, "%.*s", dot ? (int)(dot - path) : 0, path);
    yaml_node_t *mapping = document_node(document, document_find(document, parent).value);
    struct place gone = document_find(document, path);
    if (!mapping || !gone.value)
        return;
    yaml_node_pair_t *kept = mapping->data.mapping.pairs.start;
    for (yaml_node_pair_t *pair = kept; pair < mapping->data.mapping.pairs.top; pair++)
        if (pair->key != gone.key)
            *kept++ = *pair;
    mapping->data.mapping.pairs.top = kept;
}

const char *document_quote(const char *string, char *text, size_t bytes)
{
    size_t used = 0;
    text[used++] = '"';
    for (; *string && used + 6 < bytes; string++) {
        bool plain = (unsigned char)*string >= ' ' && *string != 127;
        text[used++] = plain ? *string : '?';
    }
    const char *end = *string ? "...\"" : "\"";
    snprintf(text + used, bytes - used, "%s", end);
    return text;
}

static const char *list_length(const yaml_node_t *node, char *text, size_t bytes)
{
    long count = (long)(node->data.sequence.items.top - node->data.sequence.items.start);
    snprintf(text, bytes, "a list of %ld value%s", count, count == 1 ? "" : "s");
    return text;
}

const char *document_found(const struct document *document, struct place place, char *text,
                           size_t bytes)
{
    const yaml_node_t *node = document_node(document, place.value);
    if (!node || (node->type == YAML_SCALAR_NODE && !node->data.scalar.length))
        return "nothing";
    if (node->type == YAML_SEQUENCE_NODE)
        return list_length(node, text, bytes);
    if (node->type == YAML_MAPPING_NODE)
        return "a mapping";
    return document_quote((const char *)node->data.scalar.value, text, bytes);
}

/* The override that made `node`, or override_count: the file or, after all others, a default. */
static size_t origin(const struct document *document, int node)
{
    size_t i = 0;
    while (i < document->override_count &&
           !(node >= document->override_nodes[i] && node < document->override_nodes[i + 1]))
        i++;
    return i;
}

static int complain(const struct document *document, struct place place, const char *path,
                    struct error *err, const char *text)
{
    const char *colon = *path ? ": " : "";
    size_t override = origin(document, place.value);
    if (override < document->override_count) {
        char key[QUOTE_BYTES], value[QUOTE_BYTES];
        snprintf(key, sizeof key, "%s", document->overrides[override].key);
        document_quote(document->overrides[override].value, value, sizeof value);
        return error_set(err, EX_CONFIG, "%s, --set %s=%s: %s%s%s", document->name, key, value,
                         path, colon, text);
    }
    bool standard = place.value >= document->override_nodes[document->override_count];
    if (standard)
        return error_set(err, EX_CONFIG, "%s: %s%s%s", document->name, path, colon, text);
    const yaml_node_t *node = document_node(document, place.key ? place.key : place.value);
    size_t line = node->start_mark.line + 1;
    return error_set(err, EX_CONFIG, "%s:%zu: %s%s%s", document->name, line, path, colon, text);
}

int document_complain(const struct document *document, const char *path, struct error *err,
                      const char *format, ...)
{
    char text[ERROR_TEXT_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    bool whole;
    return complain(document, follow(document, path, &whole), path, err, text);
}

int document_complain_at(const struct document *document, struct place place, const char *path,
                         struct error *err, const char *format, ...)
{
    char text[ERROR_TEXT_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return complain(document, place, path, err, text);
}
