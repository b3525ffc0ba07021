/*
 * A table with aligned columns. Cells are added row by row; table_print writes the rows that are
 * new since it was called last, so a table can be printed whole or row by row as it grows.
 */
#ifndef BALLAST_CTL_TABLE_H
#define BALLAST_CTL_TABLE_H

#include <stddef.h>

#include "base/error.h"
#include "ctl/output.h"

enum align { ALIGN_LEFT, ALIGN_RIGHT };

struct column {
    const char *title; /* NULL in all columns: no header line */
    enum align align;
    unsigned least_width; /* for a table that is printed as it grows; 0 otherwise */
};

struct table; /* opaque */

/* `columns` must outlive the table. NULL when out of memory: every function accepts that. */
struct table *table_new(const struct column *columns, size_t count);
void table_free(struct table *table);

/* The next cell; the one after the last column begins a new row. Control bytes are replaced. */
__attribute__((format(printf, 2, 3))) void table_cell(struct table *table, const char *format, ...);

/* The same in a style. */
__attribute__((format(printf, 3, 4))) void table_styled(struct table *table, enum style style,
                                                        const char *format, ...);

/* Writes the header if it is due, and the new rows. EX_OSERR when a cell found no memory. */
int table_print(struct table *table, struct output *out, struct error *err);

#endif
