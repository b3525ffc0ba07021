/*
 * One epoch of a planner: stream, packing and CP sharding under one configuration. Where the ledger
 * has no reshape it is the whole planner. Functions of the same name in plan/plan.h say what these
 * do, for a planner of any number of epochs. Pure; one thread at a time.
 */
#ifndef BALLAST_PLAN_EPOCH_H
#define BALLAST_PLAN_EPOCH_H

#include "plan/plan.h"

struct epoch; /* opaque */

/* Before step 0. `config` and `corpus` must outlive it. */
int epoch_new(const struct config *config, const struct corpus *corpus, struct epoch **ret_epoch,
              struct error *err);
void epoch_free(struct epoch *epoch);

enum planner_result epoch_step(struct epoch *epoch, struct step_plan *plan, struct error *err);

/*
 * Packs the next step and throws it away: nothing of it enters the digest. The pieces left out are
 * in epoch_left_out until the next call.
 */
enum planner_result epoch_leave_out(struct epoch *epoch, struct error *err);
const struct packing *epoch_left_out(const struct epoch *epoch);

/* After steps from `step` on were left out: `step` is the next again. EX_OSERR. */
int epoch_go_back(struct epoch *epoch, uint64_t step, struct error *err);

/*
 * From the next step on: pieces of the shard that wait are dropped, and its documents as the stream
 * comes to them. EX_DATAERR when nothing is left of the source; EX_OSERR.
 */
int epoch_drop_shard(struct epoch *epoch, size_t source, size_t shard, struct error *err);

/*
 * The stream of the epoch, wherever it is put, goes without the shard, that was dropped before.
 * Errors as epoch_drop_shard.
 */
int epoch_without_shard(struct epoch *epoch, size_t source, size_t shard, struct error *err);

/* No shard is dropped any more. */
void epoch_with_all_shards(struct epoch *epoch);

/* Takes `bytes` into the chain of digests. */
void epoch_chain(struct epoch *epoch, const void *bytes, size_t count);

int epoch_save(const struct epoch *epoch, struct planner_state *state, struct error *err);
int epoch_restore(struct epoch *epoch, const struct planner_state *state, struct error *err);

/*
 * Continues from the state of the epoch before, whose configuration was `former`: what waited there
 * comes before the stream, the oldest first, cut to this epoch's window. `state` is changed.
 */
int epoch_take_over(struct epoch *epoch, struct planner_state *state, const struct config *former,
                    struct error *err);

uint64_t epoch_next_step(const struct epoch *epoch);
bool epoch_finished(const struct epoch *epoch);
const struct auto_thresholds *epoch_auto_thresholds(const struct epoch *epoch);
struct digest epoch_job_digest(const struct epoch *epoch);
const char *epoch_job_text(const struct epoch *epoch);
const struct source_cursor *epoch_cursors(const struct epoch *epoch);
uint64_t epoch_position(const struct epoch *epoch, size_t source, uint64_t source_epoch,
                        uint64_t document);
const struct pack_policy *epoch_policy(const struct epoch *epoch, const void **ret_state);
const struct piece *epoch_backlog(const struct epoch *epoch, size_t *ret_count);
void epoch_watch(struct epoch *epoch, planner_watcher *watcher, void *context);

#endif
