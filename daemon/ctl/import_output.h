/* The two files of a shard under construction: both appear whole, or neither. */
#ifndef BALLAST_CTL_IMPORT_OUTPUT_H
#define BALLAST_CTL_IMPORT_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/error.h"

struct import_file {
    char *path, *temporary; /* owned; NULL when there is nothing to clean up */
    FILE *stream;
};

/* Zero-initialise; import_output_discard at the end, whatever happened. */
struct import_output {
    struct import_file data, index;
};

/* Creates both temporary files beside PREFIX.bin and PREFIX.idx. EX_CANTCREAT or EX_OSERR. */
int import_output_open(struct import_output *output, const char *prefix, struct error *err);

/* Is this file one of the pair, the finished one or the one under construction? */
bool import_output_owns(const struct import_output *output, const struct stat *facts);

int import_file_write(struct import_file *file, const void *bytes, size_t count, struct error *err);

/* Syncs both and puts them in place. EX_IOERR. */
int import_output_commit(struct import_output *output, struct error *err);

/* Removes what has not been put in place. */
void import_output_discard(struct import_output *output);

#endif
