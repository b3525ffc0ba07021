#include "ctl/arguments.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "ctl/suggest.h"

/* Values of struct option.val, clear of the characters that getopt returns itself. */
#define FIRST_VALUE 256

bool parse_number(const char *text, uint64_t *ret_number)
{
    if (!*text || text[strspn(text, "0123456789")])
        return false;
    errno = 0;
    unsigned long long number = strtoull(text, NULL, 10);
    if (errno)
        return false;
    *ret_number = number;
    return true;
}

static bool parse_seconds(const char *text, double *ret_seconds)
{
    char *end;
    double seconds = strtod(text, &end);
    if (!*text || *end || !isfinite(seconds) || seconds <= 0)
        return false;
    *ret_seconds = seconds;
    return true;
}

static int add_override(struct arguments *arguments, char *setting, struct error *err)
{
    char *equals = strchr(setting, '=');
    if (!equals || equals == setting)
        return error_set(err, EX_USAGE, "--set: found '%s', expected KEY=VALUE", setting);
    if (!grow(arguments->overrides, &arguments->override_capacity, arguments->override_count + 1))
        return error_memory(err, "reading the command line");
    *equals = '\0';
    arguments->overrides[arguments->override_count++] =
        (struct config_override){ .key = setting, .value = equals + 1 };
    return 0;
}

static int take_value(struct arguments *arguments, enum option_id id, char *text, struct error *err)
{
    const struct option_spec *spec = &option_specs[id];
    struct option_value *value = &arguments->values[id];
    if (spec->kind == OPTION_SETTING)
        return add_override(arguments, text, err);
    if (value->given && spec->kind != OPTION_FLAG)
        return error_set(err, EX_USAGE, "--%s is given twice", spec->name);
    value->given = true;
    value->text = text;
    if (spec->kind == OPTION_TEXT && !*text)
        return error_set(err, EX_USAGE, "--%s is empty, expected %s", spec->name, spec->argument);
    if (spec->kind == OPTION_NUMBER && !parse_number(text, &value->number))
        return error_set(err, EX_USAGE, "--%s: found '%s', expected a whole number", spec->name,
                         text);
    if (spec->kind == OPTION_SECONDS && !parse_seconds(text, &value->seconds))
        return error_set(err, EX_USAGE, "--%s: found '%s', expected seconds over 0", spec->name,
                         text);
    return 0;
}

static int unknown_option(const struct command *command, const char *typed, struct error *err)
{
    if (strncmp(typed, "--", 2) != 0)
        return error_set(err, EX_USAGE, "unknown option %s", typed);
    char name[64];
    size_t length = strcspn(typed + 2, "=");
    if (length >= sizeof name)
        return error_set(err, EX_USAGE, "unknown option %s", typed);
    memcpy(name, typed + 2, length);
    name[length] = '\0';
    struct suggestion suggestion;
    suggestion_init(&suggestion, name);
    for (size_t i = 0; i < command_option_count; i++)
        if (command_options[i].command == command)
            suggestion_offer(&suggestion, option_specs[command_options[i].id].name);
    if (suggestion.best)
        return error_set(err, EX_USAGE, "unknown option --%s, did you mean --%s?", name,
                         suggestion.best);
    return error_set(err, EX_USAGE, "unknown option --%s", name);
}

/* What getopt_long reads: the command's own options, and an end mark. */
static void fill_long_options(const struct command *command, struct option *long_options)
{
    size_t count = 0;
    for (size_t i = 0; i < command_option_count; i++) {
        if (command_options[i].command != command)
            continue;
        enum option_id id = command_options[i].id;
        long_options[count++] = (struct option){
            .name = option_specs[id].name,
            .has_arg = option_specs[id].kind == OPTION_FLAG ? no_argument : required_argument,
            .val = FIRST_VALUE + (int)id,
        };
    }
    long_options[count] = (struct option){ 0 };
}

static int refuse_option(const struct command *command, int result, char **argv, struct error *err)
{
    const char *typed = argv[optind - 1];
    if (result == ':')
        return error_set(err, EX_USAGE, "%s needs a value: %s %s", typed, typed,
                         option_specs[optopt - FIRST_VALUE].argument);
    if (optopt >= FIRST_VALUE)
        return error_set(err, EX_USAGE, "--%s takes no value",
                         option_specs[optopt - FIRST_VALUE].name);
    if (optopt) {
        char option[] = { '-', (char)optopt, '\0' };
        return unknown_option(command, option, err);
    }
    return unknown_option(command, typed, err);
}

static int read_options(struct arguments *arguments, int argc, char **argv, struct error *err)
{
    struct option long_options[OPTION_COUNT + 1];
    fill_long_options(arguments->command, long_options);
    optind = 0; /* glibc: start afresh */
    opterr = 0;
    int result;
    while ((result = getopt_long(argc, argv, ":h", long_options, NULL)) != -1) {
        if (result == 'h')
            result = FIRST_VALUE + OPTION_HELP;
        if (result < FIRST_VALUE)
            return refuse_option(arguments->command, result, argv, err);
        int code = take_value(arguments, (enum option_id)(result - FIRST_VALUE), optarg, err);
        if (code)
            return code;
    }
    arguments->operands = argv + optind;
    arguments->operand_count = argc - optind;
    return 0;
}

/* Is everything there that the command cannot do without, and nothing else? */
static int check_complete(const struct arguments *arguments, struct error *err)
{
    const struct command *command = arguments->command;
    for (size_t i = 0; i < command_option_count; i++) {
        const struct command_option *option = &command_options[i];
        const struct option_spec *spec = &option_specs[option->id];
        if (option->command == command && option->required && !arguments->values[option->id].given)
            return error_set(err, EX_USAGE, "--%s %s is missing: %s", spec->name, spec->argument,
                             option->text);
    }
    if (arguments->operand_count < command->least_operands)
        return error_set(err, EX_USAGE, "%s is missing", command->operands);
    if (arguments->operand_count > command->most_operands)
        return error_set(err, EX_USAGE, "'%s' is one argument too many",
                         arguments->operands[command->most_operands]);
    return 0;
}

int arguments_parse(const struct command *command, int argc, char **argv,
                    struct arguments *ret_arguments, struct error *err)
{
    *ret_arguments = (struct arguments){ .command = command };
    int code = read_options(ret_arguments, argc, argv, err);
    if (code || ret_arguments->values[OPTION_HELP].given)
        return code;
    return check_complete(ret_arguments, err);
}

void arguments_fini(struct arguments *arguments)
{
    free(arguments->overrides);
    *arguments = (struct arguments){ 0 };
}

bool argument_given(const struct arguments *arguments, enum option_id id)
{
    return arguments->values[id].given;
}

const char *argument_text(const struct arguments *arguments, enum option_id id,
                          const char *default_text)
{
    return arguments->values[id].given ? arguments->values[id].text : default_text;
}

uint64_t argument_number(const struct arguments *arguments, enum option_id id,
                         uint64_t default_number)
{
    return arguments->values[id].given ? arguments->values[id].number : default_number;
}
