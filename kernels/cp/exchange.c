/* What the ranks exchange, and every wait for it. */
#include <stdio.h>

#include "kernels/cp/cuda_error.h"
#include "kernels/cp/deadline.h"
#include "kernels/cp/group.h"

/* NCCL and CUDA tell nothing by themselves: they are asked, ever less often. */
#define FIRST_PAUSE_NS 20000
#define LONGEST_PAUSE_NS 1000000

/* Aborts the group, unless somebody did before; tells why that was. */
static ballast_attention_status give_up(ballast_attention_cp *cp, ballast_attention_status status,
                                        const char *reason, ballast_attention_error *error)
{
    group_end(cp, status, reason);
    return group_status(cp, error);
}

static ballast_attention_status give_up_on_nccl(ballast_attention_cp *cp, ncclResult_t result,
                                                const char *what, ballast_attention_error *error)
{
    char reason[BALLAST_ATTENTION_ERROR_BYTES];
    snprintf(reason, sizeof reason, "%s, rank %u of %u: NCCL: %s", what, cp->rank, cp->ranks,
             ncclGetErrorString(result));
    return give_up(cp, BALLAST_ATTENTION_COMMUNICATION, reason, error);
}

static ballast_attention_status give_up_on_cuda(ballast_attention_cp *cp, cudaError_t result,
                                                const char *what, ballast_attention_error *error)
{
    ballast_attention_error text;
    cuda_error(&text, result, what);
    return give_up(cp, BALLAST_ATTENTION_DEVICE, text.text, error);
}

static ballast_attention_status give_up_waiting(ballast_attention_cp *cp, const char *what,
                                                ballast_attention_error *error)
{
    char reason[BALLAST_ATTENTION_ERROR_BYTES];
    snprintf(reason, sizeof reason,
             "%s, rank %u of %u: nothing within %u ms: is every rank alive, and making the same "
             "calls?",
             what, cp->rank, cp->ranks, cp->timeout_ms);
    return give_up(cp, BALLAST_ATTENTION_TIMEOUT, reason, error);
}

/* NCCL's state; success once the group is aborted, since then there is nothing to wait for. */
static ncclResult_t ask(ballast_attention_cp *cp)
{
    ncclResult_t state = ncclSuccess;
    pthread_mutex_lock(&cp->lock);
    if (cp->comm) {
        ncclResult_t asked = ncclCommGetAsyncError(cp->comm, &state);
        if (asked != ncclSuccess)
            state = asked;
    }
    pthread_mutex_unlock(&cp->lock);
    return state;
}

/* Lets some time go by, more the next time; returns at once when the group is aborted. */
static void pause_before_asking(ballast_attention_cp *cp, int64_t *pause_ns)
{
    struct timespec until = clock_after_ns(*pause_ns);
    pthread_mutex_lock(&cp->lock);
    if (cp->status == BALLAST_ATTENTION_OK)
        pthread_cond_timedwait(&cp->ended, &cp->lock, &until);
    pthread_mutex_unlock(&cp->lock);
    *pause_ns = *pause_ns * 2 < LONGEST_PAUSE_NS ? *pause_ns * 2 : LONGEST_PAUSE_NS;
}

/* What came of a call that answered `result`. */
ballast_attention_status group_settle(ballast_attention_cp *cp, ncclResult_t result,
                                      const char *what, ballast_attention_error *error)
{
    struct deadline deadline = deadline_in_ms(cp->timeout_ms);
    int64_t pause_ns = FIRST_PAUSE_NS;
    while (result == ncclInProgress) {
        if (deadline_passed(&deadline))
            return give_up_waiting(cp, what, error);
        pause_before_asking(cp, &pause_ns);
        result = ask(cp);
    }
    if (result != ncclSuccess)
        return give_up_on_nccl(cp, result, what, error);
    return group_status(cp, error);
}

ballast_attention_status group_all_gather(ballast_attention_cp *cp, const void *send, void *receive,
                                          size_t count, ncclDataType_t type,
                                          ballast_attention_error *error)
{
    pthread_mutex_lock(&cp->lock);
    ncclResult_t result = ncclSuccess;
    if (cp->comm)
        result = ncclAllGather(send, receive, count, type, cp->comm, cp->exchange);
    pthread_mutex_unlock(&cp->lock);
    return group_settle(cp, result, "all-gather", error);
}

ballast_attention_status group_reduce_scatter(ballast_attention_cp *cp, const float *send,
                                              float *receive, size_t count,
                                              ballast_attention_error *error)
{
    pthread_mutex_lock(&cp->lock);
    ncclResult_t result = ncclSuccess;
    if (cp->comm)
        result =
            ncclReduceScatter(send, receive, count, ncclFloat32, ncclSum, cp->comm, cp->exchange);
    pthread_mutex_unlock(&cp->lock);
    return group_settle(cp, result, "reduce-scatter", error);
}

static ncclResult_t first_failure(ncclResult_t one, ncclResult_t other)
{
    return one == ncclSuccess || one == ncclInProgress ? other : one;
}

ballast_attention_status group_shift(ballast_attention_cp *cp, const void *send, void *receive,
                                     size_t count, ncclDataType_t type,
                                     ballast_attention_error *error)
{
    int next = (int)((cp->rank + 1) % cp->ranks);
    int before = (int)((cp->rank + cp->ranks - 1) % cp->ranks);
    pthread_mutex_lock(&cp->lock);
    ncclResult_t result = ncclSuccess;
    if (cp->comm) {
        ncclGroupStart();
        result = ncclSend(send, count, type, next, cp->comm, cp->exchange);
        result =
            first_failure(result, ncclRecv(receive, count, type, before, cp->comm, cp->exchange));
        result = first_failure(result, ncclGroupEnd());
    }
    pthread_mutex_unlock(&cp->lock);
    return group_settle(cp, result, "send and receive", error);
}

ballast_attention_status ballast_attention_cp_wait(ballast_attention_cp *cp,
                                                   ballast_attention_stream stream,
                                                   ballast_attention_error *error)
{
    if (!cp)
        return attention_error(error, BALLAST_ATTENTION_INVALID, "group: found NULL");
    struct deadline deadline = deadline_in_ms(cp->timeout_ms);
    int64_t pause_ns = FIRST_PAUSE_NS;
    cudaError_t result = cudaEventRecord(cp->event.waited, stream);
    if (result == cudaSuccess)
        result = cudaErrorNotReady;
    while (result == cudaErrorNotReady) {
        ncclResult_t state = ask(cp);
        if (state != ncclSuccess && state != ncclInProgress)
            return give_up_on_nccl(cp, state, "waiting for a stream", error);
        ballast_attention_status status = group_status(cp, error);
        if (status != BALLAST_ATTENTION_OK)
            return status;
        result = cudaEventQuery(cp->event.waited);
        if (result != cudaErrorNotReady)
            break;
        if (deadline_passed(&deadline))
            return give_up_waiting(cp, "waiting for a stream", error);
        pause_before_asking(cp, &pause_ns);
    }
    return result == cudaSuccess ? BALLAST_ATTENTION_OK
                                 : give_up_on_cuda(cp, result, "waiting for a stream", error);
}
