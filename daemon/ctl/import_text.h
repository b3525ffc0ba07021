/* One text file, plain or gzipped, appended to a shard as byte tokens. */
#ifndef BALLAST_CTL_IMPORT_TEXT_H
#define BALLAST_CTL_IMPORT_TEXT_H

#include <stdint.h>

#include "base/error.h"
#include "ctl/import_output.h"

/*
 * Appends the bytes of `path` as u16 tokens, then the end of the document; an empty file appends
 * nothing. *ret_tokens is how many. Errors as import_text; part of the text may then be written.
 */
int import_append(const char *path, struct import_file *data, uint32_t *ret_tokens,
                  struct error *err);

#endif
