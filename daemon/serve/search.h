/*
 * `where` on a daemon: a planner of its own searches for a document on a thread of libuv's pool, so
 * that nobody who trains waits for it, from the nearest snapshot to where the job has been planned.
 *
 * Threads: all calls are the loop's; the search itself touches nothing of the server but what never
 * changes. Bounded: SEARCH_MOST at a time, SEARCH_MS each. Owner: the server; teardown:
 * searches_cancel, then searches_await, before planner and corpus go.
 */
#ifndef BALLAST_SERVE_SEARCH_H
#define BALLAST_SERVE_SEARCH_H

#include "ballast/v1/ballast.pb-c.h"
#include "serve/state.h"

#define SEARCH_MOST 2
#define SEARCH_MS 8000 /* then what was found so far is the answer */

/* Begins the search that the command asks for; answers `peer` when it is done, or at once. */
void search_begin(struct server *server, const struct peer_id *peer,
                  const Ballast__V1__Admin *admin);

/* Answers DRAINING for every search, and makes it end soon. */
void searches_cancel(struct server *server);

/* Runs the loop until none is left: they have been cancelled. */
void searches_await(struct server *server);

#endif
