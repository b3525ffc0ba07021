/*
 * The tree of a configuration, which knows where each value came from: a line of the file, an
 * override, or a default. Values have paths like `sources[0].weight`.
 */
#ifndef BALLAST_CONFIG_DOCUMENT_H
#define BALLAST_CONFIG_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <yaml.h>

#include "base/error.h"
#include "config/config.h"

#define DOCUMENT_PATH_BYTES 160

struct document {
    const char *name; /* of the file */
    const struct config_override *overrides;
    size_t override_count;
    int *override_nodes; /* override i made the nodes [override_nodes[i], override_nodes[i + 1]) */
    bool loaded;
    yaml_document_t yaml;
};

/* A value, and its key when it stands in a mapping; nodes of `yaml`, 0 for none. */
struct place {
    int key, value;
};

/*
 * Reads the text and applies the overrides in order. `name` and `overrides` must outlive the
 * document. EX_CONFIG or EX_OSERR; document_fini is right after success and after failure.
 */
int document_init(struct document *document, const char *name, const char *text, size_t bytes,
                  const struct config_override *overrides, size_t override_count,
                  struct error *err);
void document_fini(struct document *document);

/* Replaces or adds what override `index` says (override.c). */
int document_override(struct document *document, size_t index, struct error *err);

yaml_node_t *document_node(const struct document *document, int node);

/* The value at `path`; both members are 0 when there is none. An empty path is the root. */
struct place document_find(const struct document *document, const char *path);

/* The place of `key` (of `bytes` bytes) in the mapping `mapping`. */
struct place document_member(const struct document *document, int mapping, const char *key,
                             size_t bytes);

/*
 * Adds a scalar at `path` unless there is a value. A missing section is added too; where something
 * that is no mapping is in the way nothing is done. EX_OSERR when out of memory.
 */
int document_default(struct document *document, const char *path, const char *text,
                     struct error *err);

/* Replaces the text of the scalar at `path`, which must exist. EX_OSERR when out of memory. */
int document_set_text(struct document *document, const char *path, const char *text,
                      struct error *err);

/* Puts a scalar in place of the value at `path`, which must stand in a mapping. EX_OSERR. */
int document_replace(struct document *document, const char *path, const char *text,
                     struct error *err);

/* Removes the value at `path`, if there is one, and its key. */
void document_remove(struct document *document, const char *path);

/*
 * The document as block YAML, as text_close gives it. `quoted` puts every scalar into double
 * quotes, the style that holds whatever there may be. EX_OSERR.
 */
int document_text(const struct document *document, bool quoted, char **ret_text, size_t *ret_bytes,
                  struct error *err);

/* Text of at most `bytes` - 1 bytes that shows a string in an error: quoted, cut, one line. */
const char *document_quote(const char *string, char *text, size_t bytes);

/* What stands at `place`, for an error: `"0"`, `a list of 2 values`, `a mapping`, `nothing`. */
const char *document_found(const struct document *document, struct place place, char *text,
                           size_t bytes);

/*
 * EX_CONFIG: "FILE:LINE: PATH: ...", or "FILE, --set KEY=VALUE: PATH: ..." where an override is to
 * blame. Where nothing stands at `path` the line is that of the innermost mapping around it.
 */
__attribute__((format(printf, 4, 5))) int document_complain(const struct document *document,
                                                            const char *path, struct error *err,
                                                            const char *format, ...);

/* The same, where the place is known and `path` is only for show. */
__attribute__((format(printf, 5, 6))) int document_complain_at(const struct document *document,
                                                               struct place place, const char *path,
                                                               struct error *err,
                                                               const char *format, ...);

#endif
