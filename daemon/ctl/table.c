#include "ctl/table.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/grow.h"

#define GAP 2

struct cell {
    char *text;
    enum style style;
};

struct table {
    const struct column *columns;
    size_t column_count;
    unsigned *widths; /* never shrink, so that rows printed later stay aligned */
    struct cell *cells;
    size_t cell_count, cell_capacity; /* of rows that are not printed yet */
    bool header_printed, out_of_memory;
};

/* Characters, not bytes: every byte but the continuation bytes of UTF-8. */
static unsigned text_width(const char *text)
{
    unsigned width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

struct table *table_new(const struct column *columns, size_t count)
{
    struct table *table = calloc(1, sizeof *table);
    unsigned *widths = calloc(count, sizeof *widths);
    if (!table || !widths) {
        free(table);
        free(widths);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        unsigned title = columns[i].title ? text_width(columns[i].title) : 0;
        widths[i] = title > columns[i].least_width ? title : columns[i].least_width;
    }
    *table = (struct table){ .columns = columns, .column_count = count, .widths = widths };
    return table;
}

static void drop_cells(struct table *table)
{
    for (size_t i = 0; i < table->cell_count; i++)
        free(table->cells[i].text);
    table->cell_count = 0;
}

void table_free(struct table *table)
{
    if (!table)
        return;
    drop_cells(table);
    free(table->cells);
    free(table->widths);
    free(table);
}

__attribute__((format(printf, 3, 0))) static void add_cell(struct table *table, enum style style,
                                                           const char *format, va_list args)
{
    if (!table || table->out_of_memory)
        return;
    char *text = NULL;
    if (!grow(table->cells, &table->cell_capacity, table->cell_count + 1) ||
        vasprintf(&text, format, args) < 0) {
        table->out_of_memory = true;
        return;
    }
    unsigned *width = &table->widths[table->cell_count % table->column_count];
    unsigned needed = text_width(text);
    if (needed > *width)
        *width = needed;
    table->cells[table->cell_count++] = (struct cell){ text, style };
}

void table_cell(struct table *table, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_cell(table, STYLE_PLAIN, format, args);
    va_end(args);
}

void table_styled(struct table *table, enum style style, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_cell(table, style, format, args);
    va_end(args);
}

/* One cell and the gap before it; nothing pads the end of a line. */
static void print_cell(const struct table *table, size_t column, const char *text, enum style style,
                       struct output *out)
{
    bool last = column + 1 == table->column_count;
    bool right = table->columns[column].align == ALIGN_RIGHT;
    int padding = (int)(table->widths[column] - text_width(text));
    if (!last || *text)
        output_print(out, "%*s", (column ? GAP : 0) + (right ? padding : 0), "");
    if (style != STYLE_PLAIN)
        output_style(out, style);
    output_safe(out, text);
    if (style != STYLE_PLAIN)
        output_style(out, STYLE_PLAIN);
    if (last)
        output_print(out, "\n");
    else if (!right)
        output_print(out, "%*s", padding, "");
}

static void print_header(struct table *table, struct output *out)
{
    table->header_printed = true;
    for (size_t i = 0; i < table->column_count; i++)
        if (table->columns[i].title)
            print_cell(table, i, table->columns[i].title, STYLE_TITLE, out);
}

int table_print(struct table *table, struct output *out, struct error *err)
{
    if (!table || table->out_of_memory)
        return error_memory(err, "laying out a table");
    if (!table->header_printed)
        print_header(table, out);
    for (size_t i = 0; i < table->cell_count; i++)
        print_cell(table, i % table->column_count, table->cells[i].text, table->cells[i].style,
                   out);
    drop_cells(table);
    return 0;
}
