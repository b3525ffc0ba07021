/* YAML text into a document tree, with everything refused that a configuration has no use for. */
#ifndef BALLAST_CONFIG_YAML_READ_H
#define BALLAST_CONFIG_YAML_READ_H

#include <stddef.h>
#include <yaml.h>

#define YAML_READ_MAX_BYTES (1u << 20)
#define YAML_READ_MAX_DEPTH 8u

/* Why a text was refused, and where. */
struct yaml_fault {
    size_t line; /* from 1; 0 when the fault has no line */
    char text[256];
};

/*
 * Reads exactly one document whose keys are scalars and unique in their mapping. Refused: more than
 * YAML_READ_MAX_BYTES, invalid UTF-8, control characters, anchors, aliases (so that nothing can
 * expand), tags, deep nesting. *ret_document is the caller's, for yaml_document_delete; it is
 * untouched on failure, when `fault` is filled: EX_CONFIG, or EX_OSERR out of memory.
 * An empty text gives a document without a root.
 */
int yaml_read(const char *text, size_t bytes, yaml_document_t *ret_document,
              struct yaml_fault *fault);

#endif
