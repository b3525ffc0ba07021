#include "cost/table_rows.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "cost/curve.h"

#define FIRST_LINE "# ballast cost table 1"
#define COLUMN_NAMES "op,tp,cp,q,kv,latency"
#define COLUMNS 6
#define MAX_LINE_BYTES 255
#define MAX_RANKS 65536u

static const char *const keys[] = { "device", "dtype", "heads", "head_dim", "kernel", "unit" };
#define KEYS (sizeof keys / sizeof *keys)

static const char *const columns[COLUMNS] = { "op", "tp", "cp", "q", "kv", "latency" };

struct reader {
    const char *name;
    uint32_t line;      /* from 1 */
    bool in_rows;       /* behind the names of the columns */
    unsigned seen;      /* keys, one bit each */
    double picoseconds; /* in one unit */
    struct table_rows *rows;
    struct error *err;
};

const char *table_op_name(enum table_op op)
{
    return op == TABLE_ATTENTION ? "attention" : "linear";
}

/* "NAME:LINE: FIELD: found "...", expected ...", whatever bytes were found. */
static int refuse(const struct reader *reader, const char *field, const char *found,
                  const char *expected)
{
    char quoted[49];
    size_t bytes = strnlen(found, sizeof quoted - 1);
    for (size_t i = 0; i < bytes; i++)
        quoted[i] = isprint((unsigned char)found[i]) ? found[i] : '?';
    quoted[bytes] = 0;
    return error_set(reader->err, EX_CONFIG, "%s:%u: %s: found \"%s\", expected %s", reader->name,
                     reader->line, field, quoted, expected);
}

static bool whole_number(const char *text, uint64_t most, uint64_t *ret_value)
{
    uint64_t value = 0;
    if (!*text)
        return false;
    for (const char *c = text; *c; c++) {
        if (*c < '0' || *c > '9')
            return false;
        value = value * 10 + (uint64_t)(*c - '0');
        if (value > most)
            return false;
    }
    *ret_value = value;
    return true;
}

static int read_count(const struct reader *reader, const char *field, const char *text,
                      uint32_t least, uint32_t most, uint32_t *ret_value)
{
    uint64_t value;
    char expected[64];
    if (whole_number(text, most, &value) && value >= least) {
        *ret_value = (uint32_t)value;
        return 0;
    }
    snprintf(expected, sizeof expected, "a whole number from %u to %u", least, most);
    return refuse(reader, field, text, expected);
}

/* In picoseconds; digits, a point and an exponent only: strtod alone would take "nan" and "0x1". */
static int read_latency(const struct reader *reader, const char *text, uint64_t *ret_latency)
{
    char *end;
    double latency = strtod(text, &end) * reader->picoseconds;
    bool number = *text && !text[strspn(text, "0123456789.eE+-")] && !*end;
    if (number && latency >= 1 && latency <= (double)COST_MAX_LATENCY) {
        *ret_latency = (uint64_t)(latency + 0.5);
        return 0;
    }
    return refuse(reader, "latency", text, "a decimal number, between 1 ps and 18 minutes");
}

static int read_unit(struct reader *reader, const char *value)
{
    static const struct {
        const char *name;
        double picoseconds;
    } units[] = { { "ns", 1e3 }, { "us", 1e6 }, { "ms", 1e9 } };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(units[i].name, value) != 0)
            continue;
        reader->picoseconds = units[i].picoseconds;
        return 0;
    }
    return refuse(reader, "unit", value, "ns, us or ms");
}

static int read_value(struct reader *reader, size_t key, const char *value)
{
    uint32_t number;
    if (!strcmp(keys[key], "unit"))
        return read_unit(reader, value);
    if (!strcmp(keys[key], "heads") || !strcmp(keys[key], "head_dim"))
        return read_count(reader, keys[key], value, 1, 65536, &number);
    return *value ? 0 : refuse(reader, keys[key], value, "what was measured");
}

static char *trim(char *text)
{
    text += strspn(text, " \t");
    size_t bytes = strlen(text);
    while (bytes && strchr(" \t\r", text[bytes - 1]))
        bytes--;
    text[bytes] = 0;
    return text;
}

/* A comment is `# key: value` where the key is one of ours, else free text. */
static int read_comment(struct reader *reader, char *text)
{
    char *colon = strchr(text, ':');
    if (reader->in_rows || !colon)
        return 0;
    *colon = 0;
    const char *word = trim(text + 1);
    for (size_t key = 0; key < KEYS; key++) {
        if (strcmp(keys[key], word) != 0)
            continue;
        if (reader->seen & 1u << key)
            return refuse(reader, keys[key], trim(colon + 1), "it once, found it twice");
        reader->seen |= 1u << key;
        return read_value(reader, key, trim(colon + 1));
    }
    return 0;
}

static int read_column_names(struct reader *reader, const char *text)
{
    if (strcmp(text, COLUMN_NAMES) != 0)
        return refuse(reader, "columns", text, COLUMN_NAMES);
    for (size_t key = 0; key < KEYS; key++)
        if (!(reader->seen & 1u << key))
            return error_set(reader->err, EX_CONFIG,
                             "%s:%u: %s: found none, expected a comment '# %s: ...' above the "
                             "names of the columns",
                             reader->name, reader->line, keys[key], keys[key]);
    reader->in_rows = true;
    return 0;
}

/* Cuts at commas; returns how many fields there are, of which COLUMNS at most are in `fields`. */
static unsigned split(char *text, char *fields[COLUMNS])
{
    unsigned count = 0;
    for (char *next = text; next; count++) {
        char *field = strsep(&next, ",");
        if (count < COLUMNS)
            fields[count] = trim(field);
    }
    return count;
}

static int check_kv(const struct reader *reader, const struct table_row *row, const char *kv_text)
{
    uint32_t kv = 0;
    int status = read_count(reader, "kv", kv_text, 0, COST_MAX_TOKENS, &kv);
    if (status)
        return status;
    if (row->op == TABLE_LINEAR)
        return kv == 0 ? 0 : refuse(reader, "kv", kv_text, "0 for linear");
    if (kv >= row->q && kv <= row->tokens)
        return 0;
    char expected[80];
    snprintf(expected, sizeof expected, row->cp == 1 ? "%u, as q, where cp is 1" : "%u to %u",
             row->q, row->tokens);
    return refuse(reader, "kv", kv_text, expected);
}

static int read_fields(const struct reader *reader, char *fields[COLUMNS], struct table_row *row)
{
    if (strcmp(fields[0], "attention") != 0 && strcmp(fields[0], "linear") != 0)
        return refuse(reader, "op", fields[0], "attention or linear");
    row->op = *fields[0] == 'a' ? TABLE_ATTENTION : TABLE_LINEAR;
    int status = read_count(reader, "tp", fields[1], 1, MAX_RANKS, &row->tp);
    if (!status)
        status = read_count(reader, "cp", fields[2], 1, MAX_RANKS, &row->cp);
    if (!status)
        status = read_count(reader, "q", fields[3], 1, COST_MAX_TOKENS / (row->cp ? row->cp : 1),
                            &row->q);
    if (status)
        return status;
    row->tokens = row->q * row->cp;
    status = check_kv(reader, row, fields[4]);
    return status ? status : read_latency(reader, fields[5], &row->latency);
}

static int read_row(struct reader *reader, char *text)
{
    char *fields[COLUMNS];
    unsigned count = split(text, fields);
    if (count != COLUMNS) {
        char found[32];
        snprintf(found, sizeof found, "%u fields", count);
        return refuse(reader, count < COLUMNS ? columns[count] : "row", found, "6: " COLUMN_NAMES);
    }
    struct table_row row = { .line = reader->line };
    int status = read_fields(reader, fields, &row);
    if (status)
        return status;
    struct table_rows *rows = reader->rows;
    if (!grow(rows->items, &rows->capacity, rows->count + 1))
        return error_memory(reader->err, "reading a cost table");
    rows->items[rows->count++] = row;
    return 0;
}

static int read_line(struct reader *reader, const char *bytes, size_t count)
{
    char line[MAX_LINE_BYTES + 1];
    if (count > MAX_LINE_BYTES)
        return error_set(reader->err, EX_CONFIG,
                         "%s:%u: line: found %zu bytes, expected at most %d", reader->name,
                         reader->line, count, MAX_LINE_BYTES);
    if (memchr(bytes, 0, count))
        return error_set(reader->err, EX_CONFIG, "%s:%u: line: found a NUL byte, expected text",
                         reader->name, reader->line);
    memcpy(line, bytes, count);
    line[count] = 0;
    char *text = trim(line);
    if (reader->line == 1)
        return strcmp(text, FIRST_LINE) ? refuse(reader, "line", text, FIRST_LINE) : 0;
    if (!*text)
        return 0;
    if (*text == '#')
        return read_comment(reader, text);
    return reader->in_rows ? read_row(reader, text) : read_column_names(reader, text);
}

int table_rows_read(const char *name, const char *text, size_t bytes, struct table_rows *rows,
                    struct error *err)
{
    struct reader reader = { .name = name, .rows = rows, .err = err };
    const char *end = text + bytes;
    do {
        const char *newline = text < end ? memchr(text, '\n', (size_t)(end - text)) : NULL;
        const char *stop = newline ? newline : end;
        reader.line++;
        int status = read_line(&reader, text, (size_t)(stop - text));
        if (status)
            return status;
        text = newline ? newline + 1 : end;
    } while (text < end);
    if (reader.in_rows)
        return 0;
    return refuse(&reader, "columns", "the end of the file", COLUMN_NAMES);
}

void table_rows_fini(struct table_rows *rows)
{
    free(rows->items);
    *rows = (struct table_rows){ 0 };
}
