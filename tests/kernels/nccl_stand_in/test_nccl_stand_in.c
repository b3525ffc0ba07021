/* The stand-in keeps NCCL's rules, and its faults are what they say. */
#include <criterion/criterion.h>
#include <string.h>

#include "nccl_stand_in.h"
#include "rank_threads.h"

#define MOST_RANKS 8
#define COUNT 5

/* What a rank has; all are used by its own thread, and by the test once that is gone. */
struct rank {
    ncclComm_t comm;
    cudaStream_t stream;
    float *send, *receive; /* [COUNT x MOST_RANKS] */
    ncclResult_t result;
};

struct ranks {
    ncclUniqueId id;
    int count;
    struct rank rank[MOST_RANKS];
};

static void *device_floats(void)
{
    void *memory = NULL;
    float values[COUNT * MOST_RANKS] = { 0 };
    cudaMalloc(&memory, sizeof values);
    cudaMemcpy(memory, values, sizeof values, cudaMemcpyHostToDevice);
    return memory;
}

/* Value i of a rank is 100 x rank + i. */
static void fill(struct rank *rank, int number)
{
    float values[COUNT * MOST_RANKS];
    for (int i = 0; i < COUNT * MOST_RANKS; i++)
        values[i] = (float)(100 * number + i);
    cudaMemcpy(rank->send, values, sizeof values, cudaMemcpyHostToDevice);
}

static ncclResult_t settled(ncclComm_t comm)
{
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress)
        ncclCommGetAsyncError(comm, &state);
    return state;
}

static ncclResult_t start_joining(struct ranks *ranks, int number)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    struct rank *rank = &ranks->rank[number];
    cudaStreamCreateWithFlags(&rank->stream, cudaStreamNonBlocking);
    rank->send = device_floats();
    rank->receive = device_floats();
    fill(rank, number);
    return ncclCommInitRankConfig(&rank->comm, ranks->count, ranks->id, number, &config);
}

static void join(int number, void *context)
{
    struct ranks *ranks = context;
    start_joining(ranks, number);
    ranks->rank[number].result = settled(ranks->rank[number].comm);
}

static struct ranks make_ranks(int count)
{
    struct ranks ranks = { .count = count };
    ncclGetUniqueId(&ranks.id);
    rank_threads_run(count, join, &ranks);
    return ranks;
}

/* Nobody may be waiting when memory is freed, which waits for all streams. */
static void abort_ranks(struct ranks *ranks)
{
    for (int i = 0; i < ranks->count; i++)
        if (ranks->rank[i].comm)
            ncclCommAbort(ranks->rank[i].comm);
    for (int i = 0; i < ranks->count; i++) {
        cudaStreamSynchronize(ranks->rank[i].stream);
        cudaStreamDestroy(ranks->rank[i].stream);
        cudaFree(ranks->rank[i].send);
        cudaFree(ranks->rank[i].receive);
    }
}

static float received(struct ranks *ranks, int rank, int index)
{
    float value;
    cudaMemcpy(&value, &ranks->rank[rank].receive[index], sizeof value, cudaMemcpyDeviceToHost);
    return value;
}

static struct nccl_stand_in_counters counters(void)
{
    struct nccl_stand_in_counters now;
    nccl_stand_in_get_counters(&now);
    return now;
}

static bool somebody_waits(void *context)
{
    (void)context;
    return counters().waiting > 0;
}

static void gather(int number, void *context)
{
    struct rank *rank = &((struct ranks *)context)->rank[number];
    rank->result =
        ncclAllGather(rank->send, rank->receive, COUNT, ncclFloat32, rank->comm, rank->stream);
    if (rank->result == ncclInProgress)
        rank->result = settled(rank->comm);
    cudaStreamSynchronize(rank->stream);
}

static void cr_assert_gathered(struct ranks *ranks)
{
    for (int i = 0; i < ranks->count; i++)
        for (int j = 0; j < ranks->count * COUNT; j++)
            cr_assert_eq(received(ranks, i, j), (float)(100 * (j / COUNT) + j % COUNT));
}

Test(nccl_stand_in, gathers_by_rank)
{
    struct ranks ranks = make_ranks(4);
    rank_threads_run(4, gather, &ranks);
    cr_assert_gathered(&ranks);
    cr_assert_eq(counters().collectives, 1);
    cr_assert_eq(counters().bytes, 4 * 3 * COUNT * sizeof(float));
    abort_ranks(&ranks);
}

static void reduce(int number, void *context)
{
    struct rank *rank = &((struct ranks *)context)->rank[number];
    rank->result = ncclReduceScatter(rank->send, rank->receive, COUNT, ncclFloat32, ncclSum,
                                     rank->comm, rank->stream);
    cudaStreamSynchronize(rank->stream);
}

Test(nccl_stand_in, every_rank_gets_the_sum_of_its_block)
{
    struct ranks ranks = make_ranks(3);
    rank_threads_run(3, reduce, &ranks);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < COUNT; j++)
            cr_assert_eq(received(&ranks, i, j), (float)(300 + 3 * (i * COUNT + j)));
    abort_ranks(&ranks);
}

/* 256 + 1 is no bf16: it is 256 whenever it comes up, in whatever order. */
static void reduce_bf16(int number, void *context)
{
    struct rank *rank = &((struct ranks *)context)->rank[number];
    uint16_t values[2];
    values[0] = values[1] = number == 0 ? 0x4380 : 0x3f80; /* 256, 1 */
    cudaMemcpy(rank->send, values, sizeof values, cudaMemcpyHostToDevice);
    rank->result = ncclReduceScatter(rank->send, rank->receive, 1, ncclBfloat16, ncclSum,
                                     rank->comm, rank->stream);
    cudaStreamSynchronize(rank->stream);
}

Test(nccl_stand_in, sums_are_rounded_to_their_type)
{
    struct ranks ranks = make_ranks(2);
    rank_threads_run(2, reduce_bf16, &ranks);
    for (int i = 0; i < 2; i++) {
        uint16_t sum;
        cudaMemcpy(&sum, ranks.rank[i].receive, sizeof sum, cudaMemcpyDeviceToHost);
        cr_assert_eq(sum, 0x4380);
    }
    abort_ranks(&ranks);
}

static void shift(int number, void *context)
{
    struct ranks *ranks = context;
    struct rank *rank = &ranks->rank[number];
    int next = (number + 1) % ranks->count, before = (number + ranks->count - 1) % ranks->count;
    ncclGroupStart();
    ncclSend(rank->send, COUNT, ncclFloat32, next, rank->comm, rank->stream);
    ncclRecv(rank->receive, COUNT, ncclFloat32, before, rank->comm, rank->stream);
    rank->result = ncclGroupEnd();
    cudaStreamSynchronize(rank->stream);
}

Test(nccl_stand_in, messages_go_round_a_ring)
{
    for (int count = 1; count <= MOST_RANKS; count *= 2) {
        struct ranks ranks = make_ranks(count);
        rank_threads_run(count, shift, &ranks);
        for (int i = 0; i < count; i++)
            cr_assert_eq(received(&ranks, i, 1), (float)(100 * ((i + count - 1) % count) + 1));
        abort_ranks(&ranks);
    }
    cr_assert_eq(counters().messages, 1 + 2 + 4 + 8);
}

Test(nccl_stand_in, a_communicator_is_not_ready_before_all_ranks_are_there)
{
    struct ranks ranks = { .count = 2 };
    ncclGetUniqueId(&ranks.id);
    cr_assert_eq(start_joining(&ranks, 0), ncclInProgress);
    struct rank *first = &ranks.rank[0];
    ncclResult_t state;
    cr_assert_eq(ncclCommGetAsyncError(first->comm, &state), ncclSuccess);
    cr_assert_eq(state, ncclInProgress);
    cr_assert_eq(
        ncclAllGather(first->send, first->receive, 1, ncclFloat32, first->comm, first->stream),
        ncclInvalidUsage);
    cr_assert_eq(start_joining(&ranks, 1), ncclInProgress);
    cr_assert_eq(settled(first->comm), ncclSuccess);
    abort_ranks(&ranks);
}

Test(nccl_stand_in, ranks_must_fit_their_clique)
{
    struct ranks ranks = make_ranks(2);
    ncclComm_t other;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    cr_assert_eq(ncclCommInitRankConfig(&other, 2, ranks.id, 2, &config), ncclInvalidArgument);
    cr_assert_eq(ncclCommInitRankConfig(&other, 3, ranks.id, 2, &config), ncclInvalidArgument);
    cr_assert_eq(ncclCommInitRankConfig(&other, 2, ranks.id, 1, &config), ncclInvalidUsage);
    abort_ranks(&ranks);
}

Test(nccl_stand_in, nothing_is_on_the_stream_before_progress_was_polled)
{
    nccl_stand_in_set_fault(0, &(struct nccl_stand_in_fault){ .polls = 2 });
    struct ranks ranks = make_ranks(1);
    struct rank *rank = &ranks.rank[0];
    for (uint64_t time = 0; time < 2; time++) {
        cr_assert_eq(
            ncclAllGather(rank->send, rank->receive, COUNT, ncclFloat32, rank->comm, rank->stream),
            ncclInProgress);
        cr_assert_eq(cudaStreamSynchronize(rank->stream), cudaSuccess);
        cr_assert_eq(counters().collectives, time);
        cr_assert_eq(
            ncclAllGather(rank->send, rank->receive, COUNT, ncclFloat32, rank->comm, rank->stream),
            ncclInvalidUsage, "one call at a time");
        cr_assert_eq(settled(rank->comm), ncclSuccess);
        cr_assert_eq(cudaStreamSynchronize(rank->stream), cudaSuccess);
        cr_assert_eq(counters().collectives, time + 1);
    }
    abort_ranks(&ranks);
}

Test(nccl_stand_in, who_misses_a_rank_waits_until_aborted)
{
    struct ranks ranks = make_ranks(2);
    struct rank *rank = &ranks.rank[0];
    cr_assert_eq(
        ncclAllGather(rank->send, rank->receive, COUNT, ncclFloat32, rank->comm, rank->stream),
        ncclSuccess);
    cr_assert(rank_threads_await(somebody_waits, NULL));
    cr_assert_eq(cudaStreamQuery(rank->stream), cudaErrorNotReady);
    cr_assert_eq(settled(rank->comm), ncclSuccess, "NCCL does not notice");
    ncclCommAbort(rank->comm);
    rank->comm = NULL;
    cr_assert_eq(cudaStreamSynchronize(rank->stream), cudaSuccess);
    cr_assert_eq(counters().collectives, 0);
    /* Who comes later does not meet what was withdrawn. */
    cr_assert_eq(ncclAllGather(ranks.rank[1].send, ranks.rank[1].receive, COUNT, ncclFloat32,
                               ranks.rank[1].comm, ranks.rank[1].stream),
                 ncclSuccess);
    cr_assert(rank_threads_await(somebody_waits, NULL));
    abort_ranks(&ranks);
    cr_assert_eq(counters().collectives, 0);
    cr_assert_eq(counters().communicators, 0);
    cr_assert_eq(counters().waiting, 0);
}

Test(nccl_stand_in, a_rank_falls_silent)
{
    nccl_stand_in_set_fault(1, &(struct nccl_stand_in_fault){ .silent_from = 2 });
    struct ranks ranks = make_ranks(2);
    rank_threads_run(2, gather, &ranks);
    cr_assert_gathered(&ranks);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(ncclAllGather(ranks.rank[i].send, ranks.rank[i].receive, COUNT, ncclFloat32,
                                   ranks.rank[i].comm, ranks.rank[i].stream),
                     ncclSuccess);
    cr_assert(rank_threads_await(somebody_waits, NULL));
    abort_ranks(&ranks);
    cr_assert_eq(counters().collectives, 1);
}

static bool has_failed(void *context)
{
    ncclResult_t state = ncclSuccess;
    ncclCommGetAsyncError(((struct rank *)context)->comm, &state);
    return state != ncclSuccess;
}

Test(nccl_stand_in, an_operation_fails_asynchronously)
{
    nccl_stand_in_set_fault(
        0, &(struct nccl_stand_in_fault){ .fails_at = 1, .error = ncclRemoteError });
    struct ranks ranks = make_ranks(2);
    struct rank *rank = &ranks.rank[0];
    cr_assert_eq(
        ncclAllGather(rank->send, rank->receive, COUNT, ncclFloat32, rank->comm, rank->stream),
        ncclSuccess);
    cr_assert(rank_threads_await(has_failed, rank));
    cr_assert_eq(settled(rank->comm), ncclRemoteError);
    cr_assert_eq(cudaStreamQuery(rank->stream), cudaErrorNotReady);
    cr_assert_eq(
        ncclAllGather(rank->send, rank->receive, COUNT, ncclFloat32, rank->comm, rank->stream),
        ncclRemoteError);
    abort_ranks(&ranks);
}

Test(nccl_stand_in, initialisation_fails)
{
    nccl_stand_in_set_fault(
        1, &(struct nccl_stand_in_fault){ .init_fails = true, .error = ncclSystemError });
    struct ranks ranks = make_ranks(2);
    cr_assert_eq(ranks.rank[0].result, ncclSuccess);
    cr_assert_eq(ranks.rank[1].result, ncclSystemError);
    abort_ranks(&ranks);
}

Test(nccl_stand_in, a_rank_is_late)
{
    nccl_stand_in_set_fault(2, &(struct nccl_stand_in_fault){ .late_ms = 20 });
    struct ranks ranks = make_ranks(3);
    rank_threads_run(3, gather, &ranks);
    cr_assert_gathered(&ranks);
    abort_ranks(&ranks);
}

static bool anybody_has_failed(void *context)
{
    struct ranks *ranks = context;
    return has_failed(&ranks->rank[0]) || has_failed(&ranks->rank[1]);
}

Test(nccl_stand_in, collectives_that_do_not_fit_fail)
{
    struct ranks ranks = make_ranks(2);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(ncclAllGather(ranks.rank[i].send, ranks.rank[i].receive, (size_t)(1 + i),
                                   ncclFloat32, ranks.rank[i].comm, ranks.rank[i].stream),
                     ncclSuccess);
    cr_assert(rank_threads_await(anybody_has_failed, &ranks));
    abort_ranks(&ranks);
    cr_assert_eq(counters().collectives, 0);
}

Test(nccl_stand_in, a_group_has_one_stream)
{
    struct ranks ranks = make_ranks(2);
    struct rank *rank = &ranks.rank[0];
    ncclGroupStart();
    cr_assert_eq(ncclSend(rank->send, 1, ncclFloat32, 1, rank->comm, rank->stream), ncclSuccess);
    cr_assert_eq(ncclRecv(rank->receive, 1, ncclFloat32, 1, rank->comm, ranks.rank[1].stream),
                 ncclInvalidUsage);
    cr_assert_eq(ncclGroupEnd(), ncclInvalidUsage);
    cr_assert_eq(ncclGroupEnd(), ncclInvalidUsage, "none is open");
    cr_assert_eq(ncclSend(rank->send, 1, ncclFloat32, 2, rank->comm, rank->stream),
                 ncclInvalidArgument);
    abort_ranks(&ranks);
}

Test(nccl_stand_in, finalising_waits_for_all_ranks)
{
    struct ranks ranks = make_ranks(2);
    cr_assert_eq(ncclCommFinalize(ranks.rank[0].comm), ncclInProgress);
    ncclResult_t state;
    ncclCommGetAsyncError(ranks.rank[0].comm, &state);
    cr_assert_eq(state, ncclInProgress);
    cr_assert_eq(ncclCommFinalize(ranks.rank[1].comm), ncclInProgress);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(settled(ranks.rank[i].comm), ncclSuccess);
        cr_assert_eq(ncclCommDestroy(ranks.rank[i].comm), ncclSuccess);
        ranks.rank[i].comm = NULL;
    }
    cr_assert_eq(counters().communicators, 0);
    abort_ranks(&ranks);
}
