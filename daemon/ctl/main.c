/* ballastctl: what operators and scripts ask of Ballast (DESIGN section 11). */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "ctl/arguments.h"
#include "ctl/command.h"
#include "ctl/help.h"
#include "ctl/output.h"
#include "ctl/suggest.h"

static int unknown_command(const char *typed, struct error *err)
{
    struct suggestion suggestion;
    suggestion_init(&suggestion, typed);
    for (size_t i = 0; i < command_count; i++)
        suggestion_offer(&suggestion, commands[i].name);
    if (suggestion.best)
        return error_set(err, EX_USAGE, "unknown command '%s', did you mean '%s'?", typed,
                         suggestion.best);
    return error_set(err, EX_USAGE, "unknown command '%s'", typed);
}

static int run_command(const struct command *command, int argc, char **argv, struct output *out,
                       const char **ret_help, struct error *err)
{
    struct arguments arguments;
    int code = arguments_parse(command, argc, argv, &arguments, err);
    if (code)
        *ret_help = command->name;
    else if (argument_given(&arguments, OPTION_HELP))
        help_command(command, out);
    else
        code = command->run(&arguments, out, err);
    arguments_fini(&arguments);
    if (code && *err->text)
        error_prefix(err, "%s", command->name);
    return code;
}

/*
 * Sets *ret_help when the command line could not be understood: to the command whose help would
 * help, or to "".
 */
static int run(int argc, char **argv, struct output *out, const char **ret_help, struct error *err)
{
    *ret_help = "";
    if (argc < 2)
        return error_set(err, EX_USAGE, "COMMAND is missing");
    const char *word = argv[1];
    if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
        help_overview(out);
        return 0;
    }
    if (!strcmp(word, "--version")) {
        output_print(out, "ballastctl %s\n", BALLAST_VERSION);
        return 0;
    }
    if (*word == '-')
        return error_set(err, EX_USAGE, "unknown option %s: options follow the command", word);
    const struct command *command = command_find(word);
    if (!command)
        return unknown_command(word, err);
    *ret_help = NULL;
    return run_command(command, argc - 1, argv + 1, out, ret_help, err);
}

static void report(const struct error *err, const char *help)
{
    struct output complaint;
    output_init(&complaint, stderr);
    if (*err->text) {
        output_print(&complaint, "ballastctl: ");
        output_safe(&complaint, err->text);
        output_print(&complaint, "\n");
    }
    if (help)
        output_print(&complaint, "Try 'ballastctl %s%s--help'.\n", help, *help ? " " : "");
}

int main(int argc, char **argv)
{
    output_guard_descriptors();
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error value of the write */
    signal(SIGXFSZ, SIG_IGN); /* so is a file as large as the limit allows */
    struct output out;
    output_init(&out, stdout);
    struct error err = { 0 };
    const char *help = NULL;
    int code = run(argc, argv, &out, &help, &err);
    struct error flush_error = { 0 };
    int flush_code = output_flush(&out, &flush_error);
    if (!code && flush_code) {
        code = flush_code;
        err = flush_error;
        help = NULL;
    }
    if (code)
        report(&err, help);
    return code;
}
