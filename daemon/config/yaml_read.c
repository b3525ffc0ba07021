#include "config/yaml_read.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#define MAX_VALUES 100000u /* in the whole text: bounds the memory of the tree */
#define MAX_KEYS 64        /* in one mapping: bounds the search for duplicates */
#define MAX_KEY_BYTES 64u  /* no key is nearly as long */

#define ALIASES                                                                                    \
    "anchors (&name) and aliases (*name) are not supported: write the value out, or quote a glob " \
    "that begins with *"

__attribute__((format(printf, 4, 5))) static int refuse(struct yaml_fault *fault, int code,
                                                        size_t line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fault->line = line;
    vsnprintf(fault->text, sizeof fault->text, format, args);
    va_end(args);
    return code;
}

static size_t line_of_offset(const char *text, size_t bytes, size_t offset)
{
    size_t line = 1;
    for (size_t i = 0; i < offset && i < bytes; i++)
        line += text[i] == '\n';
    return line;
}

/* What libyaml has to say; it does not count lines while it decodes characters. */
static int parser_fault(const yaml_parser_t *parser, const char *text, size_t bytes,
                        struct yaml_fault *fault)
{
    /* libyaml does not always say so, but whatever else is wrong has a name. */
    if (parser->error == YAML_MEMORY_ERROR || !parser->problem)
        return refuse(fault, EX_OSERR, 0, "out of memory while reading YAML");
    const char *problem = parser->problem;
    if (parser->error == YAML_READER_ERROR)
        return refuse(fault, EX_CONFIG, line_of_offset(text, bytes, parser->problem_offset),
                      "not text: %s at byte %zu, expected YAML in UTF-8", problem,
                      parser->problem_offset);
    size_t line = parser->problem_mark.line + 1;
    if (parser->context && strstr(parser->context, "alias"))
        return refuse(fault, EX_CONFIG, line, ALIASES);
    return refuse(fault, EX_CONFIG, line,
                  "not YAML: %s%s%s; check indentation (spaces, no tabs), colons and brackets",
                  problem, parser->context ? " " : "", parser->context ? parser->context : "");
}

struct properties {
    const yaml_char_t *anchor, *tag;
};

static struct properties properties_of(const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return (struct properties){ event->data.scalar.anchor, event->data.scalar.tag };
    case YAML_SEQUENCE_START_EVENT:
        return (struct properties){ event->data.sequence_start.anchor,
                                    event->data.sequence_start.tag };
    case YAML_MAPPING_START_EVENT:
        return (struct properties){ event->data.mapping_start.anchor,
                                    event->data.mapping_start.tag };
    default:
        return (struct properties){ NULL, NULL };
    }
}

static bool holds_nul(const yaml_event_t *event)
{
    return event->type == YAML_SCALAR_EVENT &&
           memchr(event->data.scalar.value, 0, event->data.scalar.length);
}

struct counts {
    size_t depth, values, documents;
};

static int check_event(const yaml_event_t *event, struct counts *counts, struct yaml_fault *fault)
{
    size_t line = event->start_mark.line + 1;
    struct properties properties = properties_of(event);
    if (event->type == YAML_ALIAS_EVENT || properties.anchor)
        return refuse(fault, EX_CONFIG, line, ALIASES);
    if (properties.tag)
        return refuse(fault, EX_CONFIG, line, "tags (!name) are not supported: remove the tag");
    if (holds_nul(event))
        return refuse(fault, EX_CONFIG, line, "a value holds a NUL character: remove it");
    if (event->type == YAML_DOCUMENT_START_EVENT && ++counts->documents > 1)
        return refuse(fault, EX_CONFIG, line,
                      "a second document begins, expected one: remove the line '---'");
    bool opens =
        event->type == YAML_SEQUENCE_START_EVENT || event->type == YAML_MAPPING_START_EVENT;
    if (opens && ++counts->depth > YAML_READ_MAX_DEPTH)
        return refuse(fault, EX_CONFIG, line, "nested more than %u levels deep",
                      YAML_READ_MAX_DEPTH);
    if (event->type == YAML_SEQUENCE_END_EVENT || event->type == YAML_MAPPING_END_EVENT)
        counts->depth--;
    if ((opens || event->type == YAML_SCALAR_EVENT) && ++counts->values > MAX_VALUES)
        return refuse(fault, EX_CONFIG, line, "more than %u values: use globs in paths",
                      MAX_VALUES);
    return 0;
}

/* Events come one at a time, so that a hostile text is refused before a tree is built of it. */
static int check_events(const char *text, size_t bytes, struct yaml_fault *fault)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return refuse(fault, EX_OSERR, 0, "out of memory while reading YAML");
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, bytes);
    struct counts counts = { 0 };
    int status = 0;
    bool ended = false;
    while (!status && !ended) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            status = parser_fault(&parser, text, bytes, fault);
            break;
        }
        status = check_event(&event, &counts, fault);
        ended = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return status;
}

static int load_tree(const char *text, size_t bytes, yaml_document_t *document,
                     struct yaml_fault *fault)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return refuse(fault, EX_OSERR, 0, "out of memory while reading YAML");
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, bytes);
    int status = 0;
    if (!yaml_parser_load(&parser, document))
        status = parser_fault(&parser, text, bytes, fault);
    yaml_parser_delete(&parser);
    return status;
}

static bool same_scalar(const yaml_node_t *a, const yaml_node_t *b)
{
    return a->data.scalar.length == b->data.scalar.length &&
           !memcmp(a->data.scalar.value, b->data.scalar.value, a->data.scalar.length);
}

static int check_key(yaml_document_t *document, const yaml_node_t *mapping,
                     const yaml_node_pair_t *pair, struct yaml_fault *fault)
{
    const yaml_node_t *key = yaml_document_get_node(document, pair->key);
    size_t line = key->start_mark.line + 1;
    if (key->type != YAML_SCALAR_NODE)
        return refuse(fault, EX_CONFIG, line, "a key is a list or a mapping, expected a word");
    if (key->data.scalar.length > MAX_KEY_BYTES)
        return refuse(fault, EX_CONFIG, line, "a key is longer than %u bytes", MAX_KEY_BYTES);
    if (pair - mapping->data.mapping.pairs.start >= MAX_KEYS)
        return refuse(fault, EX_CONFIG, line, "more than %d keys in one mapping", MAX_KEYS);
    for (const yaml_node_pair_t *p = mapping->data.mapping.pairs.start; p < pair; p++) {
        const yaml_node_t *earlier = yaml_document_get_node(document, p->key);
        if (same_scalar(earlier, key))
            return refuse(fault, EX_CONFIG, line,
                          "duplicate key '%s', given first in line %zu: remove one of them",
                          (const char *)key->data.scalar.value, earlier->start_mark.line + 1);
    }
    return 0;
}

static int check_keys(yaml_document_t *document, struct yaml_fault *fault)
{
    for (const yaml_node_t *node = document->nodes.start; node < document->nodes.top; node++) {
        if (node->type != YAML_MAPPING_NODE)
            continue;
        const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
        for (; pair < node->data.mapping.pairs.top; pair++) {
            int status = check_key(document, node, pair, fault);
            if (status)
                return status;
        }
    }
    return 0;
}

int yaml_read(const char *text, size_t bytes, yaml_document_t *ret_document,
              struct yaml_fault *fault)
{
    if (bytes > YAML_READ_MAX_BYTES)
        return refuse(fault, EX_CONFIG, 0, "longer than %u bytes, which no configuration is",
                      YAML_READ_MAX_BYTES);
    int status = check_events(text, bytes, fault);
    if (status)
        return status;
    yaml_document_t document = { 0 };
    status = load_tree(text, bytes, &document, fault);
    if (status)
        return status;
    status = check_keys(&document, fault);
    if (status)
        yaml_document_delete(&document);
    else
        *ret_document = document;
    return status;
}
