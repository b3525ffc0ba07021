/* ballastctl ranks: the trainer ranks and how far each has come. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/daemon.h"
#include "ctl/human.h"
#include "ctl/table.h"

static const struct column columns[] = {
    { "dp", ALIGN_RIGHT, 0 },
    { "cp", ALIGN_RIGHT, 0 },
    { "pp", ALIGN_RIGHT, 0 },
    { "tp", ALIGN_RIGHT, 0 },
    { "client", ALIGN_LEFT, 0 },
    { "asks for", ALIGN_RIGHT, 0 },
    { "acked", ALIGN_RIGHT, 0 },
    { "lag", ALIGN_RIGHT, 0 },
    { "batches", ALIGN_RIGHT, 0 },
    { "bytes", ALIGN_RIGHT, 0 },
    { "last heard of", ALIGN_RIGHT, 0 },
    { "waiting", ALIGN_LEFT, 0 },
};

struct rank_row {
    json_int_t dp, cp, pp, tp;
    const char *client, *user; /* whose key it came with, "" without CURVE */
    json_t *requested, *acked; /* a step, or null before the first */
    json_int_t lag, waiting, oldest_wait_ms, batches, bytes, idle_ms;
};

static int read_row(json_t *rank, struct rank_row *row, struct error *err)
{
    json_error_t why;
    if (json_unpack_ex(rank, &why, 0, "{sI sI sI sI ss so so sI sI sI sI sI sI}", "dp", &row->dp,
                       "cp", &row->cp, "pp", &row->pp, "tp", &row->tp, "client", &row->client,
                       "requested_step", &row->requested, "acked_step", &row->acked, "lag",
                       &row->lag, "waiting", &row->waiting, "oldest_wait_ms", &row->oldest_wait_ms,
                       "batches", &row->batches, "bytes", &row->bytes, "idle_ms", &row->idle_ms))
        return daemon_misfit(&why, err);
    const char *user = json_string_value(json_object_get(rank, "user"));
    row->user = user ? user : "";
    return 0;
}

static void add_number(struct table *table, json_int_t number)
{
    char text[HUMAN_BYTES];
    table_cell(table, "%s", human_count((uint64_t)number, text));
}

static void add_step(struct table *table, const json_t *step)
{
    if (json_is_integer(step))
        add_number(table, json_integer_value(step));
    else
        table_styled(table, STYLE_FAINT, "-");
}

static void add_row(struct table *table, const struct rank_row *row)
{
    char text[HUMAN_BYTES];
    const json_int_t coordinates[] = { row->dp, row->cp, row->pp, row->tp };
    for (size_t i = 0; i < sizeof coordinates / sizeof *coordinates; i++)
        add_number(table, coordinates[i]);
    if (*row->user)
        table_cell(table, "%s, key of %s", row->client, row->user);
    else
        table_cell(table, "%s", row->client);
    add_step(table, row->requested);
    add_step(table, row->acked);
    add_number(table, row->lag);
    add_number(table, row->batches);
    table_cell(table, "%s", human_bytes((uint64_t)row->bytes, text));
    table_cell(table, "%s ago", human_duration((uint64_t)row->idle_ms, text));
    if (row->waiting)
        table_styled(table, STYLE_WARNING, "%" JSON_INTEGER_FORMAT " for %s", row->waiting,
                     human_duration((uint64_t)row->oldest_wait_ms, text));
    else
        table_styled(table, STYLE_FAINT, "-");
}

static int by_coordinates(const void *left, const void *right)
{
    const struct rank_row *a = left, *b = right;
    const json_int_t pairs[][2] = {
        { a->dp, b->dp }, { a->cp, b->cp }, { a->pp, b->pp }, { a->tp, b->tp }
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][0] != pairs[i][1])
            return pairs[i][0] < pairs[i][1] ? -1 : 1;
    return strcmp(a->client, b->client);
}

/* The daemon lists who was heard of last: with --interval, every rank should keep its line. */
static int add_rows(struct table *table, json_t *ranks, struct error *err)
{
    size_t count = json_array_size(ranks);
    struct rank_row *rows = calloc(count + 1, sizeof *rows); /* NULL only without memory */
    if (!rows)
        return error_memory(err, "sorting the ranks");
    int code = 0;
    for (size_t i = 0; i < count && !code; i++)
        code = read_row(json_array_get(ranks, i), &rows[i], err);
    if (!code)
        qsort(rows, count, sizeof *rows, by_coordinates);
    for (size_t i = 0; i < count && !code; i++)
        add_row(table, &rows[i]);
    free(rows);
    return code;
}

static int show_ranks(json_t *answer, struct output *out, struct error *err)
{
    if (json_is_array(answer) && json_array_size(answer) == 0) {
        output_print(out, "no trainer rank has said hello yet\n");
        return 0;
    }
    struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    int code = add_rows(table, answer, err);
    if (!code)
        code = table_print(table, out, err);
    table_free(table);
    return code;
}

int run_ranks(const struct arguments *arguments, struct output *out, struct error *err)
{
    return daemon_ask(arguments, show_ranks, out, err);
}
