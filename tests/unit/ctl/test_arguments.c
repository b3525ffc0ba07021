#include <criterion/criterion.h>
#include <string.h>

#include "ctl/arguments.h"

#define MOST 16

struct line {
    char text[512];
    char *words[MOST];
    int count;
    struct arguments arguments;
    struct error err;
    int code;
};

/* Parses a command line given as one text, words separated by single blanks. */
static void parse(struct line *line, const char *text)
{
    memset(line, 0, sizeof *line);
    cr_assert_lt(strlen(text), sizeof line->text);
    memcpy(line->text, text, strlen(text) + 1);
    char *rest = line->text;
    for (char *word; (word = strsep(&rest, " "));) {
        cr_assert_lt(line->count, MOST - 1);
        line->words[line->count++] = word;
    }
    const struct command *command = command_find(line->words[0]);
    cr_assert_not_null(command);
    line->code = arguments_parse(command, line->count, line->words, &line->arguments, &line->err);
}

static void expect_usage_error(const char *text, const char *expected)
{
    struct line line;
    parse(&line, text);
    cr_expect_eq(line.code, EX_USAGE, "%s", text);
    cr_expect_str_eq(line.err.text, expected);
    arguments_fini(&line.arguments);
}

Test(arguments, values_are_read)
{
    struct line line;
    parse(&line, "plan --config job.yaml --from 3 --steps=18446744073709551615 --json");
    cr_assert_eq(line.code, 0, "%s", line.err.text);
    cr_assert_str_eq(argument_text(&line.arguments, OPTION_CONFIG, ""), "job.yaml");
    cr_assert_eq(argument_number(&line.arguments, OPTION_FROM, 9), 3);
    cr_assert_eq(argument_number(&line.arguments, OPTION_STEPS, 9), UINT64_MAX);
    cr_assert(argument_given(&line.arguments, OPTION_JSON));
    cr_assert_not(argument_given(&line.arguments, OPTION_SUMMARY));
    cr_assert_eq(argument_number(&line.arguments, OPTION_TIMEOUT, 9), 9);
    arguments_fini(&line.arguments);
}

Test(arguments, settings_keep_their_order_and_their_equals_signs)
{
    struct line line;
    parse(&line, "plan --set a.b=1 --config f --set c=d=e --set x=");
    cr_assert_eq(line.code, 0, "%s", line.err.text);
    cr_assert_eq(line.arguments.override_count, 3);
    cr_assert_str_eq(line.arguments.overrides[0].key, "a.b");
    cr_assert_str_eq(line.arguments.overrides[0].value, "1");
    cr_assert_str_eq(line.arguments.overrides[1].value, "d=e");
    cr_assert_str_eq(line.arguments.overrides[2].value, "");
    arguments_fini(&line.arguments);
}

Test(arguments, operands_may_stand_before_options)
{
    struct line line;
    parse(&line, "verify a.idx --json b.idx");
    cr_assert_eq(line.code, 0, "%s", line.err.text);
    cr_assert_eq(line.arguments.operand_count, 2);
    cr_assert_str_eq(line.arguments.operands[0], "a.idx");
    cr_assert_str_eq(line.arguments.operands[1], "b.idx");
    arguments_fini(&line.arguments);
}

Test(arguments, help_asks_for_nothing_else)
{
    struct line line;
    parse(&line, "fetch --help");
    cr_assert_eq(line.code, 0, "%s", line.err.text);
    cr_assert(argument_given(&line.arguments, OPTION_HELP));
    parse(&line, "fetch -h");
    cr_assert_eq(line.code, 0, "%s", line.err.text);
}

Test(arguments, usage_errors_say_what_was_expected)
{
    expect_usage_error("plan", "--config FILE is missing: configuration of the job");
    expect_usage_error("plan --config", "--config needs a value: --config FILE");
    expect_usage_error("plan --conifg x", "unknown option --conifg, did you mean --config?");
    expect_usage_error("plan --frobnicate", "unknown option --frobnicate");
    expect_usage_error("plan -x", "unknown option -x");
    expect_usage_error("plan --config a --config b", "--config is given twice");
    expect_usage_error("plan --config=", "--config is empty, expected FILE");
    expect_usage_error("plan --config a --json=yes", "--json takes no value");
    expect_usage_error("plan --config a --steps 1k",
                       "--steps: found '1k', expected a whole number");
    expect_usage_error("plan --config a --steps -1",
                       "--steps: found '-1', expected a whole number");
    expect_usage_error("plan --config a --steps 18446744073709551616",
                       "--steps: found '18446744073709551616', expected a whole number");
    expect_usage_error("plan --config a --set seed", "--set: found 'seed', expected KEY=VALUE");
    expect_usage_error("plan --config a --set =1", "--set: found '=1', expected KEY=VALUE");
    expect_usage_error("plan --config a b", "'b' is one argument too many");
    expect_usage_error("verify", "PATH... is missing");
    expect_usage_error("step", "K is missing");
    expect_usage_error("status --interval 0", "--interval: found '0', expected seconds over 0");
    expect_usage_error("status --interval nan", "--interval: found 'nan', expected seconds over 0");
}

/* The table itself: what the parser and help rely on. */
Test(arguments, every_command_has_help_and_no_option_twice)
{
    for (size_t i = 0; i < command_option_count; i++)
        for (size_t j = 0; j < i; j++)
            cr_expect(command_options[i].command != command_options[j].command ||
                          strcmp(option_specs[command_options[i].id].name,
                                 option_specs[command_options[j].id].name),
                      "%s takes --%s twice", command_options[i].command->name,
                      option_specs[command_options[i].id].name);
    for (size_t i = 0; i < command_count; i++) {
        cr_expect_not_null(command_accepts(&commands[i], OPTION_HELP), "%s", commands[i].name);
        cr_expect_not_null(command_accepts(&commands[i], OPTION_JSON), "%s", commands[i].name);
    }
    for (size_t id = 0; id < OPTION_COUNT; id++)
        cr_expect_eq(option_specs[id].kind == OPTION_FLAG, option_specs[id].argument == NULL);
}
