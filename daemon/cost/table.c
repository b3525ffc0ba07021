#include "cost/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/again.h"
#include "cost/table_rows.h"

static int compare(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

/* By op, tp, cp and length; the line last, so that the order is the same everywhere. */
static int compare_rows(const void *a_pointer, const void *b_pointer)
{
    const struct table_row *a = a_pointer, *b = b_pointer;
    int order = compare(a->op, b->op);
    order = order ? order : compare(a->tp, b->tp);
    order = order ? order : compare(a->cp, b->cp);
    order = order ? order : compare(a->tokens, b->tokens);
    return order ? order : compare(a->line, b->line);
}

static bool same_curve(const struct table_row *a, const struct table_row *b)
{
    return a->op == b->op && a->tp == b->tp && a->cp == b->cp;
}

static int refuse_twice(const char *name, const struct table_row *before,
                        const struct table_row *row, struct error *err)
{
    return error_set(
        err, EX_CONFIG,
        "%s:%u: q: found %u, expected one %s for tp %u and cp %u%s: line %u is another", name,
        row->line, row->q, row->op == TABLE_LINEAR ? "linear row" : "attention row of each length",
        row->tp, row->cp, row->op == TABLE_LINEAR ? "" : " only", before->line);
}

static int refuse_falling(const char *name, const struct table_row *before,
                          const struct table_row *row, struct error *err)
{
    return error_set(err, EX_CONFIG,
                     "%s:%u: latency: found %.6g us for q %u, expected at least the %.6g us of "
                     "q %u in line %u: measure again, or leave one of the two out",
                     name, row->line, (double)row->latency / 1e6, row->q,
                     (double)before->latency / 1e6, before->q, before->line);
}

/* What neighbours in sorted order must not be. */
static int check_neighbours(const char *name, const struct table_rows *rows, struct error *err)
{
    for (size_t i = 1; i < rows->count; i++) {
        const struct table_row *before = &rows->items[i - 1], *row = &rows->items[i];
        if (!same_curve(before, row))
            continue;
        if (row->op == TABLE_LINEAR || before->tokens == row->tokens)
            return refuse_twice(name, before, row, err);
        if (row->latency < before->latency)
            return refuse_falling(name, before, row, err);
    }
    return 0;
}

/* Rows [*ret_first, *ret_first + returned) are those of this op, tp and cp. */
static size_t find_rows(const struct table_rows *rows, enum table_op op, uint32_t tp, uint32_t cp,
                        size_t *ret_first)
{
    const struct table_row wanted = { .op = op, .tp = tp, .cp = cp };
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++) {
        if (!same_curve(&rows->items[i], &wanted))
            continue;
        if (count++ == 0)
            *ret_first = i;
    }
    return count;
}

static int refuse_absent(const char *name, const struct table_rows *rows, enum table_op op,
                         uint32_t tp, uint32_t cp, struct error *err)
{
    char there[96] = "";
    const struct table_row *last = NULL;
    for (size_t i = 0; i < rows->count && strlen(there) < sizeof there - 24; i++) {
        const struct table_row *row = &rows->items[i];
        if (row->op != op || (last && same_curve(last, row)))
            continue;
        last = row;
        size_t used = strlen(there);
        snprintf(there + used, sizeof there - used, "%s%u x %u", used ? ", " : "", row->tp,
                 row->cp);
    }
    return error_set(err, EX_CONFIG,
                     "%s: %s: found no row for tp %u and cp %u%s, expected %s; tp x cp are: %s",
                     name, table_op_name(op), tp, cp, cp == 1 ? "" : " or 1",
                     op == TABLE_LINEAR ? "one" : "two or more", *there ? there : "none");
}

static int make_curve(const char *name, const struct table_row *rows, size_t count,
                      struct cost_table *table, struct error *err)
{
    struct cost_point points[COST_MAX_POINTS];
    if (count < 2)
        return error_set(err, EX_CONFIG,
                         "%s:%u: attention: found the only row for tp %u and cp %u, expected two "
                         "or more lengths",
                         name, rows->line, rows->tp, rows->cp);
    if (count > COST_MAX_POINTS)
        return error_set(err, EX_CONFIG,
                         "%s:%u: attention: found %zu rows for tp %u and cp %u, expected at most "
                         "%d: leave some lengths out",
                         name, rows->line, count, rows->tp, rows->cp, COST_MAX_POINTS);
    for (size_t i = 0; i < count; i++)
        points[i] = (struct cost_point){ rows[i].tokens, rows[i].latency };
    table->longest = rows[count - 1].tokens;
    int status = cost_curve_init(&table->attention, points, (uint32_t)count, err);
    return status ? error_prefix(err, "%s", name) : 0;
}

/* Per token of a document, whose tokens cp ranks share. */
static int take_linear(const char *name, const struct table_row *row, struct cost_table *table,
                       struct error *err)
{
    table->linear = (row->latency + row->tokens / 2) / row->tokens;
    if (table->linear >= 1 && table->linear <= UINT64_C(1) << 36)
        return 0;
    return error_set(err, EX_CONFIG,
                     "%s:%u: latency: found %.6g us for %u tokens, expected 1 ps to 69 ms a token: "
                     "check the unit",
                     name, row->line, (double)row->latency / 1e6, row->tokens);
}

/* The rows of (tp, cp), if both ops have some; else of (tp, 1). */
static int choose(const char *name, const struct table_rows *rows, uint32_t tp, uint32_t cp,
                  struct cost_table *table, struct error *err)
{
    size_t attention = 0, linear = 0;
    size_t count = find_rows(rows, TABLE_ATTENTION, tp, cp, &attention);
    if (!count || !find_rows(rows, TABLE_LINEAR, tp, cp, &linear)) {
        table->cp = 1;
        count = find_rows(rows, TABLE_ATTENTION, tp, 1, &attention);
        if (!count)
            return refuse_absent(name, rows, TABLE_ATTENTION, tp, cp, err);
        if (!find_rows(rows, TABLE_LINEAR, tp, 1, &linear))
            return refuse_absent(name, rows, TABLE_LINEAR, tp, cp, err);
    }
    int status = make_curve(name, &rows->items[attention], count, table, err);
    return status ? status : take_linear(name, &rows->items[linear], table, err);
}

int cost_table_parse(const char *name, const char *text, size_t bytes, uint32_t tp, uint32_t cp,
                     struct cost_table *ret_table, struct error *err)
{
    struct table_rows rows = { 0 };
    struct cost_table table = { .cp = cp };
    int status = table_rows_read(name, text, bytes, &rows, err);
    if (!status && rows.count)
        qsort(rows.items, rows.count, sizeof *rows.items, compare_rows);
    if (!status)
        status = check_neighbours(name, &rows, err);
    if (!status)
        status = choose(name, &rows, tp, cp, &table, err);
    table_rows_fini(&rows);
    if (!status)
        *ret_table = table;
    return status;
}

static int cannot_read(const char *path, struct error *err)
{
    return error_set(err, EX_CONFIG, "%s: cannot read the cost table: %s", path, strerror(errno));
}

/* One byte more than is allowed, so that a file that grows meanwhile is seen. */
static int read_whole(int fd, const char *path, char *text, size_t *ret_bytes, struct error *err)
{
    size_t bytes = 0;
    while (bytes <= COST_TABLE_MAX_BYTES) {
        ssize_t got = read(fd, text + bytes, COST_TABLE_MAX_BYTES + 1 - bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cannot_read(path, err);
        if (got == 0)
            break;
        bytes += (size_t)got;
    }
    if (bytes > COST_TABLE_MAX_BYTES)
        return error_set(err, EX_CONFIG, "%s: found more than %u bytes, which no cost table has",
                         path, COST_TABLE_MAX_BYTES);
    *ret_bytes = bytes;
    return 0;
}

static int load_opened(int fd, const char *path, uint32_t tp, uint32_t cp,
                       struct cost_table *ret_table, struct error *err)
{
    struct stat facts;
    if (fstat(fd, &facts))
        return cannot_read(path, err);
    if (!S_ISREG(facts.st_mode))
        return error_set(err, EX_CONFIG, "%s: is no regular file, expected a cost table", path);
    char *text = malloc(COST_TABLE_MAX_BYTES + 1);
    if (!text)
        return error_memory(err, "reading a cost table");
    size_t bytes = 0;
    int status = read_whole(fd, path, text, &bytes, err);
    if (!status)
        status = cost_table_parse(path, text, bytes, tp, cp, ret_table, err);
    free(text);
    return status;
}

int cost_table_load(const char *path, uint32_t tp, uint32_t cp, struct cost_table *ret_table,
                    struct error *err)
{
    /* Non-blocking, so that a pipe in place of a file does not hang the program. */
    int fd = open_again(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return cannot_read(path, err);
    int status = load_opened(fd, path, tp, cp, ret_table, err);
    close(fd);
    return status;
}
