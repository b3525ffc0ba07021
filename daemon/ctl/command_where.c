/* ballastctl where: in which steps a document is. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/config.h"
#include "corpus/corpus.h"
#include "ctl/arguments.h"
#include "ctl/human.h"
#include "ctl/progress.h"
#include "ctl/table.h"
#include "state/job_open.h"
#include "state/where_start.h"

#define RANKS_BYTES 64 /* shown of a list of ranks */

static const struct column columns[] = {
    { "step", ALIGN_RIGHT, 0 }, { "micro-batch", ALIGN_RIGHT, 0 }, { "dp", ALIGN_RIGHT, 0 },
    { "slot", ALIGN_RIGHT, 0 }, { "tokens", ALIGN_RIGHT, 0 },      { "CP ranks", ALIGN_LEFT, 0 },
};

/* Everything that a search needs, opened in this order and closed in the reverse. */
struct searching {
    struct config *config;
    struct corpus *corpus;
    struct state_directory directory;
    struct open_job job;
    struct step_plan plan;
    struct where where;
    struct progress progress;
    uint64_t last; /* step to look at */
};

/* The directory of the configuration may not be there yet; the one that is named must be. */
static int open_directory(struct searching *searching, const struct arguments *arguments,
                          struct error *err)
{
    const char *given = argument_text(arguments, OPTION_STATE, NULL);
    searching->directory =
        STATE_DIRECTORY_CLOSED(given ? given : searching->config->state.directory);
    if (given)
        return state_directory_open_existing(&searching->directory, err);
    if (searching->directory.path)
        state_directory_open_existing(&searching->directory, NULL);
    return 0;
}

static int searching_open(struct searching *searching, const struct arguments *arguments,
                          struct error *err)
{
    int code = config_load(argument_text(arguments, OPTION_CONFIG, ""), arguments->overrides,
                           arguments->override_count, &searching->config, err);
    if (code)
        return code;
    const struct config *config = searching->config;
    code = open_directory(searching, arguments, err);
    if (!code)
        code = corpus_open(config->sources, config->source_count, config->vocab_size,
                           progress_corpus, &searching->progress, &searching->corpus, err);
    if (!code)
        code = job_open(config, searching->corpus, &searching->directory, &searching->job, err);
    return code;
}

static void searching_close(struct searching *searching)
{
    where_fini(&searching->where);
    step_plan_fini(&searching->plan);
    job_close(&searching->job);
    state_directory_close(&searching->directory);
    corpus_close(searching->corpus);
    config_free(searching->config);
}

static void show_progress(struct searching *searching)
{
    const struct where *where = &searching->where;
    const struct source_cursor *at = &planner_cursors(searching->job.planner)[where->source];
    if (progress_due(&searching->progress))
        progress_show(&searching->progress,
                      "planning: step %" PRIu64 ", document %" PRIu64 " of epoch %" PRIu64
                      " on the way to %" PRIu64 " of %" PRIu64,
                      planner_next_step(searching->job.planner), at->position, at->epoch,
                      where->position, where->epoch);
}

static int search(struct searching *searching, struct error *err)
{
    struct planner *planner = searching->job.planner;
    int code =
        where_start(&searching->where, planner, searching->corpus, &searching->directory, err);
    while (!code && planner_next_step(planner) <= searching->last) {
        enum where_result result = where_step(&searching->where, planner, &searching->plan, err);
        if (result == WHERE_DONE)
            return 0;
        code = result == WHERE_ERROR ? err->code : 0;
        show_progress(searching);
    }
    return code ? code : where_stop(&searching->where, planner, err);
}

/* "0, 3, 5 ..." */
static const char *ranks_text(const struct where *where, const struct where_place *place,
                              char text[RANKS_BYTES])
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < place->rank_count; i++) {
        char one[16];
        int bytes = snprintf(one, sizeof one, "%s%" PRIu32, i ? ", " : "",
                             where->ranks[place->first_rank + i]);
        if (used + (size_t)bytes + sizeof " ..." > RANKS_BYTES) {
            snprintf(text + used, RANKS_BYTES - used, " ...");
            break;
        }
        snprintf(text + used, RANKS_BYTES - used, "%s", one);
        used += (size_t)bytes;
    }
    return text;
}

static void add_row(struct table *table, const struct where *where, const struct where_place *place)
{
    char step[HUMAN_BYTES], ranks[RANKS_BYTES];
    table_cell(table, "%s", human_count(place->step, step));
    if (place->kind == WHERE_SERVED) {
        table_cell(table, "%" PRIu32, place->microbatch);
        table_cell(table, "%" PRIu32, place->dp);
        table_cell(table, "%" PRIu32, place->slot);
    } else {
        for (int i = 0; i < 3; i++)
            table_cell(table, "-");
    }
    table_cell(table, "%" PRIu64 " to %" PRIu64, place->offset, place->offset + place->length - 1);
    table_cell(table, "%s",
               place->kind == WHERE_SERVED     ? ranks_text(where, place, ranks)
               : place->kind == WHERE_LEFT_OUT ? "left out by the ledger"
                                               : "waits before this step");
}

static int print_places(const struct searching *searching, struct output *out, struct error *err)
{
    const struct where *where = &searching->where;
    char number[HUMAN_BYTES], tokens[HUMAN_BYTES], at[HUMAN_BYTES];
    output_print(out, "document %s of %s: %s tokens, number %s of epoch %" PRIu64 "\n",
                 human_count(where->document, number),
                 searching->corpus->sources[where->source].name, human_count(where->tokens, tokens),
                 human_count(where->position, at), where->epoch);
    if (where->count == 0) {
        output_print(out, "%s\n",
                     where->begun ? "it is in no step: empty, dropped, or cut off"
                                  : "it has not begun by the step looked at last");
        return output_flush(out, err);
    }
    struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < where->count; i++)
        add_row(table, where, &where->places[i]);
    int code = table_print(table, out, err);
    table_free(table);
    return code ? code : output_flush(out, err);
}

static int print_json(const struct searching *searching, struct output *out, struct error *err)
{
    char *text;
    int code = where_json(&searching->where, searching->job.planner, searching->corpus, &text, err);
    if (code)
        return code;
    output_print(out, "%s\n", text);
    free(text);
    return output_flush(out, err);
}

int run_where(const struct arguments *arguments, struct output *out, struct error *err)
{
    uint64_t document;
    if (!parse_number(arguments->operands[1], &document))
        return error_set(err, EX_USAGE, "found '%s', expected a document, a whole number from 0",
                         arguments->operands[1]);
    struct searching searching = { .directory = STATE_DIRECTORY_CLOSED(NULL),
                                   .last = argument_number(arguments, OPTION_TO, UINT64_MAX) };
    progress_init(&searching.progress);
    int code = searching_open(&searching, arguments, err);
    if (!code)
        code = where_begin(&searching.where, searching.job.planner, searching.corpus,
                           arguments->operands[0], document,
                           argument_number(arguments, OPTION_EPOCH, 0), err);
    if (!code)
        code = search(&searching, err);
    progress_clear(&searching.progress);
    if (!code)
        code = argument_given(arguments, OPTION_JSON) ? print_json(&searching, out, err)
                                                      : print_places(&searching, out, err);
    searching_close(&searching);
    return code;
}
