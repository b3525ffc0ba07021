/* The rows of a cost table, checked one by one; what they say together is the affair of table.c. */
#ifndef BALLAST_COST_TABLE_ROWS_H
#define BALLAST_COST_TABLE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum table_op { TABLE_ATTENTION, TABLE_LINEAR };

struct table_row {
    enum table_op op;
    uint32_t tp, cp, q;
    uint32_t tokens;  /* q x cp */
    uint64_t latency; /* ps, at least 1 */
    uint32_t line;
};

/* Zero-initialise; table_rows_fini is right after success and after failure. */
struct table_rows {
    struct table_row *items; /* in the order of the file */
    size_t count, capacity;
};

/* EX_CONFIG or EX_OSERR. */
int table_rows_read(const char *name, const char *text, size_t bytes, struct table_rows *rows,
                    struct error *err);
void table_rows_fini(struct table_rows *rows);

const char *table_op_name(enum table_op op);

#endif
