#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "config/document.h"
#include "config/yaml_read.h"

#define MAX_KEY_BYTES 128

/* One override under way. */
struct edit {
    struct document *document;
    const struct config_override *override;
    struct error *err;
};

__attribute__((format(printf, 2, 3))) static int refuse(const struct edit *edit, const char *format,
                                                        ...)
{
    char text[ERROR_TEXT_BYTES], key[64], value[64];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(edit->err, EX_CONFIG, "--set %s=%s: %s",
                     document_quote(edit->override->key, key, sizeof key),
                     document_quote(edit->override->value, value, sizeof value), text);
}

static int no_memory(const struct edit *edit)
{
    return error_memory(edit->err, "applying --set");
}

/* Copies a tree of another document; 0 when out of memory. Depth is bounded by yaml_read. */
static int copy_tree(yaml_document_t *to, yaml_document_t *from, int node)
{
    const yaml_node_t *source = yaml_document_get_node(from, node);
    if (source->type == YAML_SCALAR_NODE)
        return yaml_document_add_scalar(to, NULL, source->data.scalar.value,
                                        (int)source->data.scalar.length, YAML_ANY_SCALAR_STYLE);
    if (source->type == YAML_SEQUENCE_NODE) {
        int copy = yaml_document_add_sequence(to, NULL, YAML_ANY_SEQUENCE_STYLE);
        const yaml_node_item_t *item = source->data.sequence.items.start;
        for (; copy && item < source->data.sequence.items.top; item++) {
            int value = copy_tree(to, from, *item);
            if (!value || !yaml_document_append_sequence_item(to, copy, value))
                return 0;
        }
        return copy;
    }
    int copy = yaml_document_add_mapping(to, NULL, YAML_ANY_MAPPING_STYLE);
    const yaml_node_pair_t *pair = source->data.mapping.pairs.start;
    for (; copy && pair < source->data.mapping.pairs.top; pair++) {
        int key = copy_tree(to, from, pair->key);
        int value = key ? copy_tree(to, from, pair->value) : 0;
        if (!value || !yaml_document_append_mapping_pair(to, copy, key, value))
            return 0;
    }
    return copy;
}

/* The override's value as nodes of the document. */
static int read_value(const struct edit *edit, int *ret_node)
{
    const char *text = edit->override->value;
    yaml_document_t parsed;
    struct yaml_fault fault;
    int status = yaml_read(text, strlen(text), &parsed, &fault);
    if (status == EX_OSERR)
        return no_memory(edit);
    if (status)
        return refuse(edit, "%s", fault.text);
    if (!yaml_document_get_root_node(&parsed)) {
        yaml_document_delete(&parsed);
        return refuse(edit, "no value behind '=': write KEY=VALUE");
    }
    int node = copy_tree(&edit->document->yaml, &parsed, 1);
    yaml_document_delete(&parsed);
    if (!node)
        return no_memory(edit);
    *ret_node = node;
    return 0;
}

/* Puts `value` under the first `bytes` of `key` in a mapping, in place of what is there. */
static int set_member(const struct edit *edit, int mapping, const char *key, size_t bytes,
                      int value)
{
    yaml_document_t *yaml = &edit->document->yaml;
    struct place old = document_member(edit->document, mapping, key, bytes);
    if (!old.value) {
        int name = yaml_document_add_scalar(yaml, NULL, (const yaml_char_t *)key, (int)bytes,
                                            YAML_ANY_SCALAR_STYLE);
        bool added = name && yaml_document_append_mapping_pair(yaml, mapping, name, value);
        return added ? 0 : no_memory(edit);
    }
    yaml_node_pair_t *pair = document_node(edit->document, mapping)->data.mapping.pairs.start;
    while (pair->key != old.key)
        pair++;
    pair->value = value;
    return 0;
}

/* Does the rest of the key begin with `name` and end there, or go on with a dot? */
static bool begins_with(const char *rest, const yaml_node_t *name)
{
    if (!name || name->type != YAML_SCALAR_NODE || !name->data.scalar.length)
        return false;
    size_t bytes = name->data.scalar.length;
    return !strncmp(rest, (const char *)name->data.scalar.value, bytes) &&
           (rest[bytes] == '.' || !rest[bytes]);
}

/* The item whose `name` stands first in `rest`, the longest one (names may hold dots). */
static yaml_node_item_t *item_named(const struct document *document, const yaml_node_t *sequence,
                                    const char *rest, size_t *ret_bytes)
{
    yaml_node_item_t *best = NULL, *item = sequence->data.sequence.items.start;
    for (*ret_bytes = 0; item < sequence->data.sequence.items.top; item++) {
        const yaml_node_t *name =
            document_node(document, document_member(document, *item, "name", 4).value);
        if (begins_with(rest, name) && name->data.scalar.length > *ret_bytes) {
            best = item;
            *ret_bytes = name->data.scalar.length;
        }
    }
    return best;
}

/* The item of a list that `rest` begins with, by name or else by index. */
static int find_item(const struct edit *edit, int sequence, const char *rest,
                     yaml_node_item_t **ret_item, size_t *ret_bytes)
{
    const yaml_node_t *node = document_node(edit->document, sequence);
    size_t bytes;
    yaml_node_item_t *item = item_named(edit->document, node, rest, &bytes);
    if (!item && isdigit((unsigned char)*rest)) {
        bytes = strcspn(rest, ".");
        char *end;
        unsigned long index = strtoul(rest, &end, 10);
        size_t count = (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
        if (end == rest + bytes && index < count)
            item = node->data.sequence.items.start + index;
    }
    if (!item)
        return refuse(edit, "the list has no item '%.*s': give its name, or its number from 0",
                      (int)strcspn(rest, "."), rest);
    *ret_item = item;
    *ret_bytes = bytes;
    return 0;
}

static bool is_nothing(const yaml_node_t *node)
{
    return node->type == YAML_SCALAR_NODE && !node->data.scalar.length;
}

/* One step down into a mapping, which gets an empty mapping for a key that it lacks. */
static int enter_member(const struct edit *edit, int *node, const char *key, size_t bytes)
{
    int next = document_member(edit->document, *node, key, bytes).value;
    if (!next || is_nothing(document_node(edit->document, next))) {
        next = yaml_document_add_mapping(&edit->document->yaml, NULL, YAML_ANY_MAPPING_STYLE);
        int status = next ? set_member(edit, *node, key, bytes, next) : no_memory(edit);
        if (status)
            return status;
    }
    *node = next;
    return 0;
}

static int apply(const struct edit *edit, int value)
{
    const char *rest = edit->override->key;
    int node = 1;
    for (unsigned depth = 0; depth < YAML_READ_MAX_DEPTH; depth++) {
        const yaml_node_t *parent = document_node(edit->document, node);
        size_t bytes = strcspn(rest, ".");
        if (!bytes)
            return refuse(edit, "a name in the key is empty: write names with dots between, such "
                                "as packing.policy");
        if (parent->type == YAML_SCALAR_NODE)
            return refuse(edit, "'%s' lies below a single value", rest);
        yaml_node_item_t *item = NULL;
        int status = 0;
        if (parent->type == YAML_SEQUENCE_NODE)
            status = find_item(edit, node, rest, &item, &bytes);
        if (status)
            return status;
        if (!rest[bytes] && item) {
            *item = value;
            return 0;
        }
        if (!rest[bytes])
            return set_member(edit, node, rest, bytes, value);
        if (item)
            node = *item;
        else
            status = enter_member(edit, &node, rest, bytes);
        if (status)
            return status;
        rest += bytes + 1;
    }
    return refuse(edit, "more than %u names in the key", YAML_READ_MAX_DEPTH);
}

/* Keys and names of sources are made of these. */
static bool is_key(const char *key)
{
    size_t bytes = strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");
    return bytes && bytes <= MAX_KEY_BYTES && !key[bytes];
}

int document_override(struct document *document, size_t index, struct error *err)
{
    struct edit edit = { document, &document->overrides[index], err };
    if (!is_key(edit.override->key))
        return refuse(&edit, "not a key: write names with dots between, such as packing.policy");
    int value = 0;
    int status = read_value(&edit, &value);
    return status ? status : apply(&edit, value);
}
