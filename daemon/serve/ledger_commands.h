/*
 * Changes of the ledger (PROTOCOL.md, Admin): `reshape`, `skip` and `drop` read and judged, and
 * what becomes of the server when the planner has done one. Thread: the loop's.
 */
#ifndef BALLAST_SERVE_LEDGER_COMMANDS_H
#define BALLAST_SERVE_LEDGER_COMMANDS_H

#include "ballast/v1/ballast.pb-c.h"
#include "serve/state.h"

/*
 * Reads a command into an entry, for the caller's ledger_entry_fini, and judges it: the status is
 * OK, or `why` says in up to `bytes` characters why not, and the entry is untouched.
 */
enum wire_status ledger_command_read(struct server *server, const Ballast__V1__Admin *admin,
                                     struct ledger_entry *ret_entry, char *why, size_t bytes);

/* Has the planner add the entry. Until it has, nothing from its step on is served. EX_OSERR. */
int ledger_command_begin(struct server *server, const struct ledger_entry *entry,
                         struct error *err);

/* The planner has answered: what it overruled is forgotten. */
void ledger_command_end(struct server *server, const struct planner_change *change);

#endif
