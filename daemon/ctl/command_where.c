/* ballastctl where: in which steps a document is. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "corpus/corpus.h"
#include "ctl/arguments.h"
#include "ctl/bad_shards.h"
#include "ctl/daemon.h"
#include "ctl/human.h"
#include "ctl/json_line.h"
#include "ctl/progress.h"
#include "ctl/table.h"
#include "state/job_corpus.h"
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
        code = job_corpus_open(config, &searching->directory, progress_corpus, &searching->progress,
                               &searching->corpus, err);
    if (!code)
        bad_shards_tell(searching->corpus, &searching->progress);
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

/* ---- what is shown, of a search here or on a daemon ---- */

/* "0, 3, 5 ..." */
static const char *ranks_text(const json_t *ranks, char text[RANKS_BYTES])
{
    size_t used = 0, index;
    json_t *rank;
    text[0] = '\0';
    json_array_foreach((json_t *)(uintptr_t)ranks, index, rank)
    {
        char one[32];
        int bytes = snprintf(one, sizeof one, "%s%" JSON_INTEGER_FORMAT, index ? ", " : "",
                             json_integer_value(rank));
        if (used + (size_t)bytes + sizeof " ..." > RANKS_BYTES) {
            snprintf(text + used, RANKS_BYTES - used, " ...");
            break;
        }
        snprintf(text + used, RANKS_BYTES - used, "%s", one);
        used += (size_t)bytes;
    }
    return text;
}

static int add_row(struct table *table, json_t *place, struct error *err)
{
    const char *state;
    json_int_t step, offset, length, numbers[3] = { -1, -1, -1 };
    json_t *ranks = NULL;
    json_error_t why;
    char text[HUMAN_BYTES], list[RANKS_BYTES];
    if (json_unpack_ex(place, &why, 0, "{ss sI sI sI s?I s?I s?I s?o}", "state", &state, "step",
                       &step, "offset", &offset, "length", &length, "microbatch", &numbers[0], "dp",
                       &numbers[1], "slot", &numbers[2], "ranks", &ranks))
        return daemon_misfit(&why, err);
    table_cell(table, "%s", human_count((uint64_t)step, text));
    for (int i = 0; i < 3; i++) {
        if (numbers[i] < 0)
            table_cell(table, "-");
        else
            table_cell(table, "%" JSON_INTEGER_FORMAT, numbers[i]);
    }
    table_cell(table, "%" JSON_INTEGER_FORMAT " to %" JSON_INTEGER_FORMAT, offset,
               offset + length - 1);
    if (ranks)
        table_cell(table, "%s", ranks_text(ranks, list));
    else
        table_cell(table, "%s",
                   strcmp(state, "waiting") == 0 ? "waits before this step"
                                                 : "left out by the ledger");
    return 0;
}

static int show_places(json_t *answer, struct output *out, struct error *err)
{
    const char *source;
    json_int_t document, epoch, tokens, position, to;
    int begun;
    json_t *places, *place, *dropped;
    json_error_t why;
    size_t index;
    char text[HUMAN_BYTES], number[HUMAN_BYTES], at[HUMAN_BYTES];
    if (json_unpack_ex(answer, &why, 0, "{ss sI sI sI sI sb so sI so}", "source", &source,
                       "document", &document, "epoch", &epoch, "tokens", &tokens, "position",
                       &position, "begun", &begun, "dropped_from", &dropped, "searched_to", &to,
                       "places", &places))
        return daemon_misfit(&why, err);
    output_print(out, "document %s of %s: %s tokens, number %s of epoch %" JSON_INTEGER_FORMAT "\n",
                 human_count((uint64_t)document, number), source,
                 human_count((uint64_t)tokens, text), human_count((uint64_t)position, at), epoch);
    if (json_is_integer(dropped))
        output_print(out, "the ledger drops its shard from step %s on\n",
                     human_count((uint64_t)json_integer_value(dropped), text));
    if (json_array_size(places) == 0) {
        output_print(out,
                     begun ? "it is in no step: empty, dropped, or cut off\n"
                           : "it has not begun by step %s\n",
                     human_count((uint64_t)to, text));
        return output_flush(out, err);
    }
    struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    int code = 0;
    json_array_foreach(places, index, place) code = code ? code : add_row(table, place, err);
    if (!code)
        code = table_print(table, out, err);
    table_free(table);
    return code ? code : output_flush(out, err);
}

static int print_found(const struct searching *searching, bool as_json, struct output *out,
                       struct error *err)
{
    char *text;
    int code = where_json(&searching->where, searching->job.planner, searching->corpus, &text, err);
    if (code)
        return code;
    json_error_t why;
    json_t *answer = json_loads(text, 0, &why);
    free(text);
    if (!answer)
        return error_memory(err, "showing places");
    if (as_json)
        return json_line(out, answer, err);
    code = show_places(answer, out, err);
    json_decref(answer);
    return code;
}

/* ---- the two ways to search ---- */

static int search_here(const struct arguments *arguments, uint64_t document, uint64_t epoch,
                       struct output *out, struct error *err)
{
    struct searching searching = { .directory = STATE_DIRECTORY_CLOSED(NULL),
                                   .last = argument_number(arguments, OPTION_TO, UINT64_MAX) };
    progress_init(&searching.progress);
    int code = searching_open(&searching, arguments, err);
    if (!code)
        code = where_begin(&searching.where, searching.job.planner, searching.corpus,
                           arguments->operands[0], document, epoch, err);
    if (!code)
        code = search(&searching, err);
    progress_clear(&searching.progress);
    if (!code)
        code = print_found(&searching, argument_given(arguments, OPTION_JSON), out, err);
    searching_close(&searching);
    return code;
}

static int search_there(const struct arguments *arguments, uint64_t document, uint64_t epoch,
                        struct output *out, struct error *err)
{
    char numbers[2][32];
    snprintf(numbers[0], sizeof numbers[0], "%" PRIu64, document);
    snprintf(numbers[1], sizeof numbers[1], "%" PRIu64, epoch);
    const char *words[] = { arguments->operands[0], numbers[0], numbers[1] };
    return daemon_tell(arguments, words, sizeof words / sizeof *words, show_places, out, err);
}

int run_where(const struct arguments *arguments, struct output *out, struct error *err)
{
    uint64_t document, epoch = argument_number(arguments, OPTION_EPOCH, 0);
    if (!parse_number(arguments->operands[1], &document))
        return error_set(err, EX_USAGE, "found '%s', expected a document, a whole number from 0",
                         arguments->operands[1]);
    if (argument_given(arguments, OPTION_ADMIN))
        return search_there(arguments, document, epoch, out, err);
    if (argument_given(arguments, OPTION_CONFIG))
        return search_here(arguments, document, epoch, out, err);
    return error_set(err, EX_USAGE,
                     "needs --config FILE, to search here, or --admin ENDPOINT, to "
                     "have a daemon search");
}
