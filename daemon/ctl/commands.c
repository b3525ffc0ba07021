#include "ctl/command.h"

#include <limits.h>
#include <string.h>

const struct option_spec option_specs[OPTION_COUNT] = {
#define OPTION(id, name, kind, argument) [OPTION_##id] = { name, OPTION_##kind, argument },
#include "ctl/commands.def"
};

enum command_index {
#define COMMAND(id, ...) COMMAND_##id,
#include "ctl/commands.def"
    COMMAND_COUNT
};

const struct command commands[] = {
#define COMMAND(id, group, operands, least, most, summary, details, example)                       \
    { #id, GROUP_##group, operands, least, most, summary, details, example, run_##id },
#include "ctl/commands.def"
};

const size_t command_count = COMMAND_COUNT;

const struct command_option command_options[] = {
#define NEEDS(command, option, text) { &commands[COMMAND_##command], OPTION_##option, true, text },
#define TAKES(command, option, text) { &commands[COMMAND_##command], OPTION_##option, false, text },
#include "ctl/commands.def"
};

const size_t command_option_count = sizeof command_options / sizeof *command_options;

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < command_count; i++)
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    return NULL;
}

const struct command_option *command_accepts(const struct command *command, enum option_id id)
{
    for (size_t i = 0; i < command_option_count; i++)
        if (command_options[i].command == command && command_options[i].id == id)
            return &command_options[i];
    return NULL;
}
