/*
 * The server: one loop that answers trainer ranks and operators until it is told to stop.
 *
 * Threads: server_run takes the calling thread as the loop thread, which owns sockets, sessions,
 * waiting requests, the payload cache and every timer. The planner thread and the gather workers
 * hand results over through the plan store and the gather pool, and wake the loop up by one
 * uv_async. ZeroMQ's I/O threads only ever release what a message held (serve/flight.h).
 *
 * Teardown, in this order: drain (answer what can be answered), close the sockets, stop and join
 * the planner and the workers, end the ZeroMQ context (every message has landed then), close the
 * loop's handles, free what they used.
 */
#ifndef BALLAST_SERVE_SERVER_H
#define BALLAST_SERVE_SERVER_H

#include "base/error.h"
#include "config/config.h"
#include "corpus/corpus.h"
#include "observe/log.h"

struct server; /* opaque */

/*
 * Takes the locks of the addresses, so that a second daemon is refused before it has read a shard.
 * All arguments must outlive the server.
 */
int server_new(const struct config *config, struct log *log, struct server **ret_server,
               struct error *err);

/*
 * Serves `corpus` until SIGTERM or SIGINT, then drains. Returns 0 after a drain, or a sysexits
 * status with `err` filled. Call once. Blocks.
 */
int server_run(struct server *server, const struct corpus *corpus, struct error *err);

/* NULL is accepted. */
/*
 * Before server_run: a change of the corpus is accepted, from the furthest snapshot before or at
 * `step` on (state/accept.h).
 */
void server_accept_corpus_change(struct server *server, uint64_t step);

void server_free(struct server *server);

#endif
