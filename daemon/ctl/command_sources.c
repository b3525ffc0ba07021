/* ballastctl sources: what each source holds, gives and has given. */
#include <inttypes.h>

#include "ctl/daemon.h"
#include "ctl/human.h"
#include "ctl/table.h"

static const struct column columns[] = {
    { "source", ALIGN_LEFT, 0 },      { "format", ALIGN_LEFT, 0 },
    { "shards", ALIGN_RIGHT, 0 },     { "documents", ALIGN_RIGHT, 0 },
    { "empty", ALIGN_RIGHT, 0 },      { "tokens", ALIGN_RIGHT, 0 },
    { "target", ALIGN_RIGHT, 0 },     { "realised", ALIGN_RIGHT, 0 },
    { "epoch", ALIGN_RIGHT, 0 },      { "done", ALIGN_RIGHT, 0 },
    { "handed out", ALIGN_RIGHT, 0 }, { "dropped", ALIGN_RIGHT, 0 },
};

struct source_row {
    const char *name, *format;
    json_int_t shards, documents, empty_documents, tokens;
    double target_share, realised_share;
    json_int_t epoch, position, served_tokens, dropped_tokens;
};

static int read_row(json_t *source, struct source_row *row, struct error *err)
{
    json_error_t why;
    if (json_unpack_ex(source, &why, 0, "{ss ss sI sI sI sI sF sF sI sI sI sI}", "name", &row->name,
                       "format", &row->format, "shards", &row->shards, "documents", &row->documents,
                       "empty_documents", &row->empty_documents, "tokens", &row->tokens,
                       "target_share", &row->target_share, "realised_share", &row->realised_share,
                       "epoch", &row->epoch, "position", &row->position, "served_tokens",
                       &row->served_tokens, "dropped_tokens", &row->dropped_tokens))
        return daemon_misfit(&why, err);
    return 0;
}

static void add_number(struct table *table, json_int_t number)
{
    char text[HUMAN_BYTES];
    table_cell(table, "%s", human_count((uint64_t)number, text));
}

static void add_row(struct table *table, const struct source_row *row)
{
    table_cell(table, "%s", row->name);
    table_cell(table, "%s", row->format);
    add_number(table, row->shards);
    add_number(table, row->documents);
    add_number(table, row->empty_documents);
    add_number(table, row->tokens);
    table_cell(table, "%.1f %%", 100 * row->target_share);
    table_cell(table, "%.1f %%", 100 * row->realised_share);
    add_number(table, row->epoch);
    double done = row->documents ? (double)row->position / (double)row->documents : 1;
    table_cell(table, "%.1f %%", 100 * done);
    add_number(table, row->served_tokens);
    add_number(table, row->dropped_tokens);
}

static int show_sources(json_t *answer, struct output *out, struct error *err)
{
    struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    size_t index;
    json_t *source;
    int code = 0;
    json_array_foreach(answer, index, source)
    {
        struct source_row row;
        code = read_row(source, &row, err);
        if (code)
            break;
        add_row(table, &row);
    }
    if (!code)
        code = table_print(table, out, err);
    table_free(table);
    return code;
}

int run_sources(const struct arguments *arguments, struct output *out, struct error *err)
{
    return daemon_ask(arguments, show_sources, out, err);
}
