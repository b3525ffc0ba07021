/* ballastctl import: text files become a token shard. */
#include <inttypes.h>
#include <string.h>

#include "ctl/arguments.h"
#include "ctl/human.h"
#include "ctl/import.h"
#include "ctl/interrupt.h"
#include "ctl/json_line.h"
#include "ctl/progress.h"

static bool show_progress(void *context, const char *path, const struct import_facts *so_far)
{
    struct progress *progress = context;
    char documents[HUMAN_BYTES], tokens[HUMAN_BYTES];
    if (progress_due(progress))
        progress_show(progress, "importing: %s documents, %s tokens  %s",
                      human_count(so_far->documents, documents),
                      human_count(so_far->tokens, tokens), path);
    return !interrupt_came();
}

static int print_json(const char *prefix, const struct import_facts *facts, struct output *out,
                      struct error *err)
{
    return json_line(out,
                     json_pack("{so sI sI sI sI}", "prefix", json_bytes(prefix), "documents",
                               (json_int_t)facts->documents, "tokens", (json_int_t)facts->tokens,
                               "skipped", (json_int_t)facts->skipped, "vocab_size",
                               (json_int_t)IMPORT_VOCAB_SIZE),
                     err);
}

static void print_text(const char *prefix, const struct import_facts *facts, struct output *out)
{
    char documents[HUMAN_BYTES], tokens[HUMAN_BYTES], skipped[HUMAN_BYTES];
    output_safe(out, prefix);
    output_print(out, ".idx: %s documents, %s tokens, vocabulary %d",
                 human_count(facts->documents, documents), human_count(facts->tokens, tokens),
                 IMPORT_VOCAB_SIZE);
    if (facts->skipped)
        output_print(out, "; %s passed over: empty, or no regular files",
                     human_count(facts->skipped, skipped));
    output_print(out, "\n");
}

/* text.idx would become text.idx.idx, and text/ the hidden text/.idx. */
static int check_prefix(const char *prefix, struct error *err)
{
    if (prefix[strlen(prefix) - 1] == '/')
        return error_set(err, EX_USAGE,
                         "--out: found '%s', expected a PREFIX with a name behind '/'", prefix);
    static const char *const endings[] = { ".idx", ".bin" };
    size_t length = strlen(prefix);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (length >= 4 && strcmp(prefix + length - 4, endings[i]) == 0)
            return error_set(err, EX_USAGE, "--out: found '%s', expected a PREFIX without '%s'",
                             prefix, endings[i]);
    return 0;
}

int run_import(const struct arguments *arguments, struct output *out, struct error *err)
{
    const char *prefix = argument_text(arguments, OPTION_PREFIX, "");
    struct import_facts facts;
    struct progress progress;
    int code = check_prefix(prefix, err);
    if (code)
        return code;
    progress_init(&progress);
    interrupt_catch();
    code = import_text(prefix, arguments->operands, (size_t)arguments->operand_count, show_progress,
                       &progress, &facts, err);
    progress_clear(&progress);
    interrupt_deliver();
    if (code)
        return code;
    if (argument_given(arguments, OPTION_JSON))
        return print_json(prefix, &facts, out, err);
    print_text(prefix, &facts, out);
    return 0;
}
