/*
 * The gather workers: they copy the tokens of planned steps into payloads.
 *
 * Two bounded queues, each served first in, first out: payloads that requests wait for come before
 * those gathered ahead of demand. Threads: submit and take on the loop's; the workers run on their
 * own; `notify` is called on a worker when something is done. Owner: the server. Teardown:
 * gather_free stops the workers after the job each is at, joins them, and drops the rest.
 */
#ifndef BALLAST_SERVE_GATHER_H
#define BALLAST_SERVE_GATHER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "corpus/corpus.h"
#include "serve/list.h"
#include "serve/payload_cache.h"
#include "serve/shared_plan.h"

#define GATHER_QUEUE 256

typedef void gather_notify(void *context);

struct gather_job {
    struct list link;
    struct shared_plan *plan;
    struct payload_key key;
    bool ahead;              /* nobody waited for it when it was submitted */
    struct payload *payload; /* NULL when it failed, as `error` says */
    struct error error;
    struct piece bad; /* that could not be read, where the error is one of a shard */
};

struct gather; /* opaque */

/* `corpus` must outlive the pool. EX_OSERR when a thread cannot be started. */
int gather_new(const struct corpus *corpus, unsigned threads, gather_notify *notify, void *context,
               struct gather **ret_gather, struct error *err);

/* Takes a reference to the plan. False when the queue is full or memory is out. */
bool gather_submit(struct gather *gather, struct shared_plan *plan, struct payload_key key,
                   bool ahead);

/* Jobs submitted ahead of demand and not taken back yet. */
unsigned gather_ahead(const struct gather *gather);

/* A finished job, or NULL. The caller frees it. */
struct gather_job *gather_take(struct gather *gather);
void gather_job_free(struct gather_job *job);

/* NULL is accepted. */
void gather_free(struct gather *gather);

#endif
