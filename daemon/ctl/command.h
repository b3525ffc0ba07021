/* The commands of ballastctl and the options each of them takes, as commands.def lists them. */
#ifndef BALLAST_CTL_COMMAND_H
#define BALLAST_CTL_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "ctl/output.h"

enum option_id {
#define OPTION(id, name, kind, argument) OPTION_##id,
#include "ctl/commands.def"
    OPTION_COUNT
};

enum option_kind {
    OPTION_FLAG,    /* no value */
    OPTION_TEXT,    /* anything but nothing */
    OPTION_NUMBER,  /* a whole number, 0 to 2^64 - 1 */
    OPTION_SECONDS, /* a decimal number over 0 */
    OPTION_SETTING, /* KEY=VALUE, may be repeated */
};

/* How an option is written and its value read. */
struct option_spec {
    const char *name; /* without the dashes */
    enum option_kind kind;
    const char *argument; /* what help calls the value; NULL for a flag */
};

enum command_group {
    GROUP_LOCAL,  /* needs no daemon */
    GROUP_RANK,   /* talks to a daemon as a trainer rank does */
    GROUP_DAEMON, /* talks to the admin socket */
};

struct arguments;

/*
 * Does what the command is for and returns its exit status, a sysexits code. On failure `err` says
 * why, unless the output has already said it: then err->text stays empty.
 */
typedef int command_run(const struct arguments *arguments, struct output *out, struct error *err);

struct command {
    const char *name;
    enum command_group group;
    const char *operands; /* "PATH...", or NULL when it takes none */
    int least_operands, most_operands;
    const char *summary; /* half a sentence */
    const char *details; /* whole sentences, lines broken */
    const char *example;
    command_run *run;
};

/* An option of one command. */
struct command_option {
    const struct command *command;
    enum option_id id;
    bool required;
    const char *text;
};

extern const struct command commands[];
extern const size_t command_count;

extern const struct command_option command_options[]; /* of all commands, command by command */
extern const size_t command_option_count;

extern const struct option_spec option_specs[OPTION_COUNT];

/* The command of that name, or NULL. */
const struct command *command_find(const char *name);

/* The row that says that `command` accepts `id`, or NULL. */
const struct command_option *command_accepts(const struct command *command, enum option_id id);

#define COMMAND(id, ...) command_run run_##id;
#include "ctl/commands.def"

#endif
