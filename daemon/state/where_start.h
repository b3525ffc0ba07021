/* Where a search for a document best begins. */
#ifndef BALLAST_STATE_WHERE_START_H
#define BALLAST_STATE_WHERE_START_H

#include "plan/where.h"
#include "state/state_directory.h"

/*
 * Puts the planner at the furthest snapshot of its job in which the document has not begun, or
 * leaves it where it is, at step 0, when there is none. A directory that is not open has none; what
 * cannot be read is passed over. EX_OSERR. Blocks on I/O.
 */
int where_start(const struct where *where, struct planner *planner, const struct corpus *corpus,
                const struct state_directory *directory, struct error *err);

#endif
