/*
 * A stand-in for NCCL whose ranks are threads of one process and whose memory is the host's, so
 * that the real calling code runs in tests. It keeps NCCL's rules strictly where breaking them goes
 * unpunished with the real one, or hangs it:
 *   - Communicators may be non-blocking: then a call can answer ncclInProgress, and nothing is on
 *     the stream until ncclCommGetAsyncError has answered otherwise.
 *   - An operation meets its counterparts on the stream, never on the calling thread; where one is
 *     missing it waits for ever, as NCCL's kernels do, until its communicator is aborted.
 *   - Calls on a communicator that is not ready, collectives that do not fit together, and groups
 *     over two streams are answered with ncclInvalidUsage or an asynchronous error.
 *   - Sums of a reduce-scatter are made in the order of a ring, which differs from rank to rank.
 * One thread at a time for one communicator, but for ncclCommAbort.
 */
#ifndef BALLAST_TESTS_KERNELS_NCCL_STAND_IN_H
#define BALLAST_TESTS_KERNELS_NCCL_STAND_IN_H

#include <nccl.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NCCL_STAND_IN_MAX_RANKS 64

/*
 * What goes wrong on one rank; all zero: nothing does. Operations are counted from 1 over the life
 * of a communicator; a group is one operation.
 */
struct nccl_stand_in_fault {
    uint32_t silent_from; /* from this operation on the rank meets nobody any more */
    uint32_t fails_at;    /* this operation meets nobody and raises `error` asynchronously */
    bool init_fails;      /* initialisation ends in `error` */
    ncclResult_t error;
    uint32_t late_ms; /* every operation starts so much later */
    uint32_t polls;   /* so many answers of ncclCommGetAsyncError are ncclInProgress first */
};

/* Holds for communicators made from now on; NULL: no fault. */
void nccl_stand_in_set_fault(int rank, const struct nccl_stand_in_fault *fault);

struct nccl_stand_in_counters {
    uint64_t communicators; /* that exist now */
    uint64_t collectives;   /* completed, each counted once */
    uint64_t messages;      /* sends that were received */
    uint64_t bytes;         /* that one rank got from another */
    uint64_t waiting;       /* operations that wait on streams now */
};

void nccl_stand_in_get_counters(struct nccl_stand_in_counters *ret_counters);

#ifdef __cplusplus
}
#endif

#endif
