/* The command line of one command, read and checked by the table in commands.def. */
#ifndef BALLAST_CTL_ARGUMENTS_H
#define BALLAST_CTL_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "config/config.h"
#include "ctl/command.h"

struct option_value {
    bool given;
    const char *text;
    uint64_t number; /* OPTION_NUMBER */
    double seconds;  /* OPTION_SECONDS */
};

struct arguments {
    const struct command *command;
    struct option_value values[OPTION_COUNT];
    struct config_override *overrides; /* every --set, in order */
    size_t override_count, override_capacity;
    char **operands;
    int operand_count;
};

/*
 * Reads argv[1..] of `command`; argv[0] is its name. Everything in `ret_arguments` points into
 * argv, which getopt_long reorders. Call arguments_fini afterwards, also on failure.
 * EX_USAGE names the option and what was expected. With --help nothing else is demanded.
 */
int arguments_parse(const struct command *command, int argc, char **argv,
                    struct arguments *ret_arguments, struct error *err);
void arguments_fini(struct arguments *arguments);

bool argument_given(const struct arguments *arguments, enum option_id id);
const char *argument_text(const struct arguments *arguments, enum option_id id,
                          const char *default_text);
uint64_t argument_number(const struct arguments *arguments, enum option_id id,
                         uint64_t default_number);

/* A whole decimal number and nothing else. Untouched and false otherwise. */
bool parse_number(const char *text, uint64_t *ret_number);

#endif
