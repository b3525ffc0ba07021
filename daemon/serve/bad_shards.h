/*
 * What is done about a shard that turns bad while its tokens are served (on_bad_shard). A step with
 * a share that cannot be gathered is refused to all ranks. With `skip`, and a state directory, no
 * step is sent before all of it has been gathered (whole_steps.h), and the shard is dropped from a
 * bad step on once all ranks wait for that and none has been sent any of it, so that all go on with
 * the same data, as if nothing had been. Where ranks may ask other daemons that is left to
 * operators.
 *
 * Thread: the loop's.
 */
#ifndef BALLAST_SERVE_BAD_SHARDS_H
#define BALLAST_SERVE_BAD_SHARDS_H

#include "serve/state.h"

/* Is it so configured, and is there a state directory to keep a ledger in? */
bool bad_shards_may_drop(const struct server *server);

/*
 * What a peer is told that asks for a share of a bad step: BUSY where the shard is to be dropped,
 * else why the step cannot be had. Notes that the peer waits.
 */
enum wire_status bad_shards_answer(struct server *server, struct session *session,
                                   const struct bad_step *bad, char *why, size_t bytes);

/*
 * Drops the shard of a bad step if all is ready for that. Changes requests that wait: not to be
 * called while they are walked through.
 */
void bad_shards_drop(struct server *server);

/* The ledger could not be changed by this entry, which drops a shard: it is tried again later, or
 * not at all where that is of no use. */
void bad_shards_refused(struct server *server, const struct ledger_entry *entry,
                        const struct error *error);

#endif
