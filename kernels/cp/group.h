/*
 * A group of CP ranks as seen from one of them: NCCL's communicator, the stream on which ranks
 * exchange, and what became of them.
 *
 * The communicator is never blocking: a call that answers ncclInProgress is polled until it is
 * settled, or the deadline passes. `lock` guards comm, status and reason, and every call of NCCL is
 * made under it, so that ballast_attention_cp_abort may come from any thread at any time; nobody
 * waits for anything while holding it. Once status is not OK it stays as it is and comm is NULL.
 * All else belongs to the thread that uses the group.
 */
#ifndef BALLAST_KERNELS_CP_GROUP_H
#define BALLAST_KERNELS_CP_GROUP_H

#include <ballast/attention_cp.h>
#include <nccl.h>
#include <pthread.h>
#include <stdbool.h>

/* What streams tell each other; two of a kind where buffers take turns. */
struct group_events {
    cudaEvent_t begun;       /* the caller's stream: tensors are ready */
    cudaEvent_t arrived[2];  /* exchange: what was exchanged is there */
    cudaEvent_t used[2];     /* the caller's: what had arrived may be overwritten */
    cudaEvent_t computed[2]; /* the caller's: results may be exchanged */
    cudaEvent_t sent[2];     /* exchange: these may be overwritten */
    cudaEvent_t waited;      /* any stream, in ballast_attention_cp_wait */
};

#define GROUP_EVENTS (sizeof(struct group_events) / sizeof(cudaEvent_t))

struct ballast_attention_cp {
    pthread_mutex_t lock;
    pthread_cond_t ended; /* status is not OK any more */
    ncclComm_t comm;
    ballast_attention_status status;
    char reason[BALLAST_ATTENTION_ERROR_BYTES];

    uint32_t ranks, rank, timeout_ms;
    cudaStream_t exchange;
    union {
        struct group_events event;
        cudaEvent_t events[GROUP_EVENTS];
    };
};

/* The status that the group was aborted with, and its reason; OK while it lives. */
ballast_attention_status group_status(ballast_attention_cp *cp, ballast_attention_error *error);

/*
 * Aborts the group, unless somebody did before: then the first status and reason stand. NCCL's
 * kernels end and the exchange stream runs empty.
 */
void group_end(ballast_attention_cp *cp, ballast_attention_status status, const char *reason);

/*
 * What came of a call of NCCL that answered `result`: while that is ncclInProgress, waits up to the
 * timeout. On failure the group is aborted.
 */
ballast_attention_status group_settle(ballast_attention_cp *cp, ncclResult_t result,
                                      const char *what, ballast_attention_error *error);

/*
 * Each enqueues on the exchange stream; sizes are in values of `type` a rank. They wait, up to the
 * timeout, for NCCL to have taken the order. On failure the group is aborted.
 */
ballast_attention_status group_all_gather(ballast_attention_cp *cp, const void *send, void *receive,
                                          size_t count, ncclDataType_t type,
                                          ballast_attention_error *error);
/* Sums of float; the result is this rank's block. */
ballast_attention_status group_reduce_scatter(ballast_attention_cp *cp, const float *send,
                                              float *receive, size_t count,
                                              ballast_attention_error *error);
/* Sends to the next rank and receives from the one before, round the ring. */
ballast_attention_status group_shift(ballast_attention_cp *cp, const void *send, void *receive,
                                     size_t count, ncclDataType_t type,
                                     ballast_attention_error *error);

#endif
