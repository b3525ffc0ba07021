#include "ctl/help.h"

#include <stdio.h>
#include <string.h>

static void print_title(struct output *out, const char *title)
{
    output_style(out, STYLE_TITLE);
    output_print(out, "%s", title);
    output_style(out, STYLE_PLAIN);
}

static void print_group(struct output *out, enum command_group group, const char *title)
{
    output_print(out, "\n");
    print_title(out, title);
    output_print(out, "\n");
    for (size_t i = 0; i < command_count; i++) {
        if (commands[i].group != group)
            continue;
        char call[32];
        const char *operand = commands[i].most_operands == 1 ? commands[i].operands : NULL;
        snprintf(call, sizeof call, "%s%s%s", commands[i].name, operand ? " " : "",
                 operand ? operand : "");
        output_print(out, "  %-9s %s\n", call, commands[i].summary);
    }
}

void help_overview(struct output *out)
{
    print_title(out, "Usage:");
    output_print(out, " ballastctl COMMAND [OPTION]... [ARGUMENT]...\n"
                      "Operates Ballast, which serves token shards to trainer ranks in batches of "
                      "equal work.\n");
    print_group(out, GROUP_LOCAL, "Without a daemon:");
    print_group(out, GROUP_RANK, "As a trainer rank:");
    print_group(out, GROUP_DAEMON, "On a running daemon:");
    output_print(out, "\n"
                      "  --help    show this help; 'ballastctl COMMAND --help' that of a command\n"
                      "  --version show the version\n\n");
    print_title(out, "Example:");
    output_print(out, "\n  ballastctl plan --config job.yaml --steps 20\n\n"
                      "The manual is ballastctl(1).\n");
}

static void print_usage(const struct command *command, struct output *out)
{
    print_title(out, "Usage:");
    output_print(out, " ballastctl %s", command->name);
    for (size_t i = 0; i < command_option_count; i++) {
        const struct command_option *option = &command_options[i];
        if (option->command == command && option->required)
            output_print(out, " --%s %s", option_specs[option->id].name,
                         option_specs[option->id].argument);
    }
    output_print(out, " [OPTION]...%s%s\n", command->operands ? " " : "",
                 command->operands ? command->operands : "");
}

/* "--set KEY=VALUE" */
static void describe_option(enum option_id id, char *text, size_t bytes)
{
    const struct option_spec *spec = &option_specs[id];
    snprintf(text, bytes, "--%s%s%s", spec->name, spec->argument ? " " : "",
             spec->argument ? spec->argument : "");
}

static void print_options(const struct command *command, struct output *out)
{
    output_print(out, "\n");
    print_title(out, "Options:");
    output_print(out, "\n");
    char text[64];
    size_t width = 0;
    for (size_t i = 0; i < command_option_count; i++) {
        if (command_options[i].command != command)
            continue;
        describe_option(command_options[i].id, text, sizeof text);
        if (strlen(text) > width)
            width = strlen(text);
    }
    for (size_t i = 0; i < command_option_count; i++) {
        const struct command_option *option = &command_options[i];
        if (option->command != command)
            continue;
        describe_option(option->id, text, sizeof text);
        output_print(out, "  %-*s  %s%s\n", (int)width, text, option->text,
                     option->required ? " (required)" : "");
    }
}

void help_command(const struct command *command, struct output *out)
{
    print_usage(command, out);
    output_print(out, "%s\n", command->details);
    print_options(command, out);
    output_print(out, "\n");
    print_title(out, "Example:");
    output_print(out, "\n  %s\n", command->example);
}
