#include "kernels/cp/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cp/cuda_error.h"

#define DEFAULT_TIMEOUT_MS 60000
#define MAX_TIMEOUT_MS 3600000

_Static_assert(sizeof(ballast_attention_cp_id) == sizeof(ncclUniqueId), "an id is NCCL's");

ballast_attention_status ballast_attention_cp_make_id(ballast_attention_cp_id *ret_id,
                                                      ballast_attention_error *error)
{
    if (!ret_id)
        return attention_error(error, BALLAST_ATTENTION_INVALID, "id: found NULL");
    ncclUniqueId id;
    ncclResult_t result = ncclGetUniqueId(&id);
    if (result != ncclSuccess)
        return attention_error(error, BALLAST_ATTENTION_COMMUNICATION, "making an id: NCCL: %s",
                               ncclGetErrorString(result));
    memcpy(ret_id->bytes, id.internal, sizeof ret_id->bytes);
    return BALLAST_ATTENTION_OK;
}

void group_end(ballast_attention_cp *cp, ballast_attention_status status, const char *reason)
{
    pthread_mutex_lock(&cp->lock);
    if (cp->status == BALLAST_ATTENTION_OK) {
        cp->status = status;
        snprintf(cp->reason, sizeof cp->reason, "%s", reason);
        if (cp->comm)
            ncclCommAbort(cp->comm); /* frees it, whatever it answers */
        cp->comm = NULL;
        pthread_cond_broadcast(&cp->ended);
    }
    pthread_mutex_unlock(&cp->lock);
}

ballast_attention_status group_status(ballast_attention_cp *cp, ballast_attention_error *error)
{
    pthread_mutex_lock(&cp->lock);
    ballast_attention_status status = cp->status;
    if (status != BALLAST_ATTENTION_OK)
        attention_error(error, status, "%s", cp->reason);
    pthread_mutex_unlock(&cp->lock);
    return status;
}

void ballast_attention_cp_abort(ballast_attention_cp *cp)
{
    if (cp)
        group_end(cp, BALLAST_ATTENTION_ABORTED, "the group was aborted");
}

static ballast_attention_status check_options(const ballast_attention_cp_options *options,
                                              ballast_attention_error *error)
{
    const ballast_attention_cp_options *o = options;
    if (!o || o->size != sizeof *o || o->version != 1)
        return attention_error(
            error, BALLAST_ATTENTION_INVALID,
            "options: expected BALLAST_ATTENTION_CP_OPTIONS_INIT of this version");
    if (o->ranks < 1 || o->ranks > BALLAST_ATTENTION_CP_MAX_RANKS)
        return attention_error(error, BALLAST_ATTENTION_INVALID,
                               "ranks: found %u, expected 1 to %d", o->ranks,
                               BALLAST_ATTENTION_CP_MAX_RANKS);
    if (o->rank >= o->ranks)
        return attention_error(error, BALLAST_ATTENTION_INVALID, "rank: found %u, expected 0 to %u",
                               o->rank, o->ranks - 1);
    if (o->timeout_ms > MAX_TIMEOUT_MS)
        return attention_error(error, BALLAST_ATTENTION_INVALID,
                               "timeout_ms: found %u, expected up to %d", o->timeout_ms,
                               MAX_TIMEOUT_MS);
    return BALLAST_ATTENTION_OK;
}

static ballast_attention_status make_streams(ballast_attention_cp *cp,
                                             ballast_attention_error *error)
{
    cudaError_t result = cudaStreamCreateWithFlags(&cp->exchange, cudaStreamNonBlocking);
    for (size_t i = 0; i < GROUP_EVENTS && result == cudaSuccess; i++)
        result = cudaEventCreateWithFlags(&cp->events[i], cudaEventDisableTiming);
    return cuda_error(error, result, "making a stream and events");
}

static void free_streams(ballast_attention_cp *cp)
{
    for (size_t i = 0; i < GROUP_EVENTS; i++)
        if (cp->events[i])
            cudaEventDestroy(cp->events[i]);
    if (cp->exchange)
        cudaStreamDestroy(cp->exchange);
}

static ballast_attention_status join(ballast_attention_cp *cp, const ballast_attention_cp_id *id,
                                     ballast_attention_error *error)
{
    ncclUniqueId unique;
    memcpy(unique.internal, id->bytes, sizeof unique.internal);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    pthread_mutex_lock(&cp->lock);
    ncclResult_t result =
        ncclCommInitRankConfig(&cp->comm, (int)cp->ranks, unique, (int)cp->rank, &config);
    pthread_mutex_unlock(&cp->lock);
    return group_settle(cp, result, "joining the group", error);
}

static void init_locks(ballast_attention_cp *cp)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&cp->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&cp->lock, NULL);
}

ballast_attention_status ballast_attention_cp_open(const ballast_attention_cp_options *options,
                                                   ballast_attention_cp **ret_cp,
                                                   ballast_attention_error *error)
{
    ballast_attention_status status = check_options(options, error);
    if (status != BALLAST_ATTENTION_OK)
        return status;
    ballast_attention_cp *cp = calloc(1, sizeof *cp);
    if (!cp)
        return attention_error(error, BALLAST_ATTENTION_NO_MEMORY, "making a group: out of memory");
    cp->ranks = options->ranks;
    cp->rank = options->rank;
    cp->timeout_ms = options->timeout_ms ? options->timeout_ms : DEFAULT_TIMEOUT_MS;
    init_locks(cp);
    status = make_streams(cp, error);
    if (status == BALLAST_ATTENTION_OK)
        status = join(cp, &options->id, error);
    if (status != BALLAST_ATTENTION_OK) {
        ballast_attention_cp_abort(cp);
        ballast_attention_cp_close(cp);
        return status;
    }
    *ret_cp = cp;
    return BALLAST_ATTENTION_OK;
}

/* Together with the others; false when they did not come, or did not do well. */
static bool leave(ballast_attention_cp *cp)
{
    pthread_mutex_lock(&cp->lock);
    ncclResult_t result = cp->comm ? ncclCommFinalize(cp->comm) : ncclSuccess;
    pthread_mutex_unlock(&cp->lock);
    return group_settle(cp, result, "leaving the group", NULL) == BALLAST_ATTENTION_OK;
}

void ballast_attention_cp_close(ballast_attention_cp *cp)
{
    if (!cp)
        return;
    if (leave(cp))
        ncclCommDestroy(cp->comm);
    free_streams(cp);
    pthread_cond_destroy(&cp->ended);
    pthread_mutex_destroy(&cp->lock);
    free(cp);
}
