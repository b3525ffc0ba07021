/* What `--help` prints, composed from commands.def. */
#ifndef BALLAST_CTL_HELP_H
#define BALLAST_CTL_HELP_H

#include "ctl/command.h"
#include "ctl/output.h"

/* All commands, a line each. */
void help_overview(struct output *out);

/* One command: usage, options, an example. */
void help_command(const struct command *command, struct output *out);

#endif
