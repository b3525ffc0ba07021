/* What the commands that ask a running daemon have in common. */
#ifndef BALLAST_CTL_DAEMON_H
#define BALLAST_CTL_DAEMON_H

#include <jansson.h>

#include "base/error.h"
#include "ctl/arguments.h"
#include "ctl/output.h"

/* Shows an answer to a person. EX_SOFTWARE, by daemon_misfit, when it is not what was expected. */
typedef int show_answer(json_t *answer, struct output *out, struct error *err);

/*
 * Asks the daemon that --admin or --config names for `command` with the operands as arguments and
 * prints the answer: as JSON with --json, through `show` without; again and again with --interval.
 */
int daemon_ask(const struct arguments *arguments, show_answer *show, struct output *out,
               struct error *err);

/* The same with arguments of its own, once. --admin goes before the socket of --config. */
int daemon_tell(const struct arguments *arguments, const char *const *words, size_t count,
                show_answer *show, struct output *out, struct error *err);

/* The answer has another shape than this version knows. */
int daemon_misfit(const json_error_t *why, struct error *err);

#endif
