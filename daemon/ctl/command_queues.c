/* ballastctl queues: what the packer holds back. */
#include <inttypes.h>

#include "ctl/daemon.h"
#include "ctl/human.h"
#include "ctl/table.h"

static const struct column columns[] = {
    { "place", ALIGN_LEFT, 0 },
    { "pieces", ALIGN_RIGHT, 0 },
    { "tokens", ALIGN_RIGHT, 0 },
    { "waits since step", ALIGN_RIGHT, 0 },
};

static void add_place(struct table *table, const char *name, json_int_t pieces, json_int_t tokens,
                      json_int_t oldest)
{
    char text[HUMAN_BYTES];
    table_cell(table, "%s", name);
    table_cell(table, "%s", human_count((uint64_t)pieces, text));
    table_cell(table, "%s", human_count((uint64_t)tokens, text));
    if (pieces)
        table_cell(table, "%s", human_count((uint64_t)oldest, text));
    else
        table_styled(table, STYLE_FAINT, "-");
}

static int add_places(struct table *table, json_t *places, struct error *err)
{
    size_t index;
    json_t *place;
    json_array_foreach(places, index, place)
    {
        const char *name;
        json_int_t pieces, tokens, oldest;
        json_error_t why;
        if (json_unpack_ex(place, &why, 0, "{ss sI sI sI}", "name", &name, "pieces", &pieces,
                           "tokens", &tokens, "oldest", &oldest))
            return daemon_misfit(&why, err);
        add_place(table, name, pieces, tokens, oldest);
    }
    return 0;
}

static int show_queues(json_t *answer, struct output *out, struct error *err)
{
    json_int_t step, pieces, tokens, oldest;
    const char *policy;
    json_t *places;
    json_error_t why;
    if (json_unpack_ex(answer, &why, 0, "{sI ss so sI sI sI}", "step", &step, "policy", &policy,
                       "places", &places, "pieces", &pieces, "tokens", &tokens, "oldest", &oldest))
        return daemon_misfit(&why, err);
    char text[HUMAN_BYTES];
    output_print(out, "before step %s, policy %s\n\n", human_count((uint64_t)step, text), policy);
    struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    int code = add_places(table, places, err);
    add_place(table, "all", pieces, tokens, oldest);
    if (!code)
        code = table_print(table, out, err);
    table_free(table);
    return code;
}

int run_queues(const struct arguments *arguments, struct output *out, struct error *err)
{
    return daemon_ask(arguments, show_queues, out, err);
}
