/*
 * A finished plan that many hold at once: the plan store, gather jobs, and ZeroMQ messages that
 * send its tables without a copy.
 *
 * Threads: immutable after shared_plan_new; reference and release from any thread, ZeroMQ's I/O
 * threads included. Owner: the last reference. Teardown: none of its own.
 */
#ifndef BALLAST_SERVE_SHARED_PLAN_H
#define BALLAST_SERVE_SHARED_PLAN_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/plan.h"

struct shared_plan {
    atomic_uint references;
    size_t bytes;                /* of the whole block */
    struct digest job;           /* the job digest of its step when it was planned */
    const struct config *config; /* that was in force */
    struct step_plan plan;       /* its arrays lie in this same block: never step_plan_fini it */
    uint64_t *pieces_xxh3;       /* checksum of each micro-batch's piece table */
    uint64_t *chunks_xxh3;       /* and of its chunk table */
};

/*
 * An exact copy of `plan`, of that job digest, made under `config`, which must outlive it, with one
 * reference, the caller's. EX_OSERR when out of memory.
 */
int shared_plan_new(const struct step_plan *plan, struct digest job, const struct config *config,
                    struct shared_plan **ret_shared, struct error *err);

struct shared_plan *shared_plan_ref(struct shared_plan *shared);

/* NULL is accepted. */
void shared_plan_unref(struct shared_plan *shared);

#endif
