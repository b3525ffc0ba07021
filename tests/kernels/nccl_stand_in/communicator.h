/*
 * One rank's communicator: its state, the operations that it has called, and what goes wrong with
 * it. An operation is called by a host thread, put on a stream, and met there; so it holds the
 * communicator, which may be aborted and forgotten by its owner meanwhile.
 */
#ifndef BALLAST_TESTS_KERNELS_COMMUNICATOR_H
#define BALLAST_TESTS_KERNELS_COMMUNICATOR_H

#include "clique.h"

namespace stand_in
{

enum class state { initialising, ready, finalising, aborted };

/* Everything but what is constant is guarded by the clique's lock. */
struct communicator {
    communicator(std::shared_ptr<clique> ranks, int rank_number, bool is_blocking);

    const std::shared_ptr<clique> others;
    const int rank;
    const bool blocking;
    const nccl_stand_in_fault fault;

    enum state state = state::initialising;
    ncclResult_t error = ncclSuccess;  /* asynchronous */
    uint64_t called = 0, finished = 0; /* operations */
    uint64_t collectives = 0;          /* that have met, or tried to */
    uint32_t polls = 0;                /* answers of ncclInProgress that are due first */
    std::vector<struct batch *> held;  /* to be put on their streams when those are given */
};

/* What one group holds for one communicator: an operation of its own. */
struct batch {
    std::shared_ptr<communicator> comm;
    cudaStream_t stream;
    uint64_t number;
    std::vector<operation> operations;
};

/* The asynchronous state as ncclCommGetAsyncError tells it; moves on what waits for being asked. */
ncclResult_t poll(communicator &comm);

/* Numbers the batch and puts it on its stream, or holds it back where a poll is due first. */
ncclResult_t submit(std::unique_ptr<batch> work);

void abort(communicator &comm);

} // namespace stand_in

/* NCCL's handle. */
struct ncclComm {
    std::shared_ptr<stand_in::communicator> comm;
};

#endif
