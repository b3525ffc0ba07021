/*
 * A job's configuration over its steps: that of step 0, and each that the ledger puts in its place
 * later on. Immutable; any thread.
 */
#ifndef BALLAST_PLAN_HISTORY_H
#define BALLAST_PLAN_HISTORY_H

#include "config/config.h"
#include "plan/ledger.h"

/* From `from_step` on, up to the next one's, this configuration holds. */
struct history_epoch {
    uint64_t from_step;
    const struct config *config;
    size_t entries; /* of the ledger up to and including the reshape that began it */
};

struct history {
    struct job_ledger ledger;
    struct history_epoch *epochs; /* at least one */
    size_t count;
};

/*
 * `config` may be that of step 0 or any later one of the ledger, which is copied and may be NULL:
 * no entry. It must outlive the history. EX_CONFIG when a configuration of the ledger does not work
 * with it; EX_OSERR.
 */
int history_new(const struct config *config, const struct job_ledger *ledger,
                struct history **ret_history, struct error *err);

/* NULL is accepted. */
void history_free(struct history *history);

/* The epoch of `step`, counted from 0. */
size_t history_epoch(const struct history *history, uint64_t step);

/* The epoch that holds once that many entries of the ledger are applied. */
size_t history_epoch_after(const struct history *history, size_t entries);

/* The first step that can be planned: of a job that has changed its corpus, where it did. */
static inline uint64_t history_first_step(const struct history *history)
{
    return history->ledger.origin.step;
}

static inline const struct config *history_config(const struct history *history, uint64_t step)
{
    return history->epochs[history_epoch(history, step)].config;
}

#endif
