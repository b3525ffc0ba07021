/*
 * The ledger of the job that is served, as every thread of the server sees it: its epochs and the
 * job digests E(0), E(1), ... (ARCHITECTURE.md, The ledger). Immutable. A change of the ledger
 * makes a new one, which keeps the former alive, for plans of its time are still under way.
 *
 * Threads: made on the planner's, read on any. Owner: the server, of the newest one.
 */
#ifndef BALLAST_SERVE_LINEAGE_H
#define BALLAST_SERVE_LINEAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/plan.h"

struct lineage {
    struct history *history;
    struct digest *digests; /* one more than the ledger has entries */
    struct digest ledger;   /* of the whole ledger */
    struct lineage *former;
};

/*
 * Takes over `history`, on which `planner` is open, and `former` (which may be NULL). EX_OSERR:
 * they are still the caller's.
 */
int lineage_new(struct history *history, const struct planner *planner, struct lineage *former,
                struct lineage **ret_lineage, struct error *err);

/* All former ones too; NULL is accepted. No plan may be under way. */
void lineage_free(struct lineage *lineage);

static inline size_t lineage_entries(const struct lineage *lineage)
{
    return lineage->history->ledger.count;
}

/* Is the job what its configuration and corpus say, and no more? */
static inline bool lineage_is_plain(const struct lineage *lineage)
{
    return lineage_entries(lineage) == 0 && !lineage->history->ledger.origin.state;
}

/* The job digest that names a planner's state before `next_step`. */
struct digest lineage_before(const struct lineage *lineage, uint64_t next_step);

/* The job digest of a step: all entries that it depends on are in it. */
struct digest lineage_digest(const struct lineage *lineage, uint64_t step);

/* Is this one of the job's digests, or was it one before the ledger changed? Then *ret_config is
 * what was in force behind the last entry in it. */
bool lineage_knows(const struct lineage *lineage, struct digest digest,
                   const struct config **ret_config);

/* Does a step that was planned when it had this job digest stand no longer? */
bool lineage_overrules(const struct lineage *lineage, struct digest job, uint64_t step);

/* The steps that have the same layout as `step`: from the first to the one before *ret_until, which
 * is 0 where there is no end. */
uint64_t lineage_layout(const struct lineage *lineage, uint64_t step, uint64_t *ret_until);

/* "steps 100 to 199 have dp 2, cp 2, ...", for a person. Returns `text`. */
const char *lineage_layout_text(const struct lineage *lineage, uint64_t step, char *text,
                                size_t bytes);

/* The longest window of all epochs, and the most micro-batches of a step: for what memory needs. */
void lineage_extremes(const struct lineage *lineage, uint32_t *ret_sequence,
                      uint32_t *ret_microbatches);

#endif
