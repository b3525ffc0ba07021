/* A group of ranks: joining, leaving, and what becomes of it when one of them does not. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

#include "clean.h"
#include "kernels/cp/group.h"
#include "rank_threads.h"

#define RANKS 3
#define SHORT_MS 200   /* where it is to pass */
#define LONG_MS 120000 /* where it is not */

struct rank {
    ballast_attention_cp *cp;
    ballast_attention_status status;
    ballast_attention_error error;
};

struct ranks {
    ballast_attention_cp_options options; /* of rank 0 */
    struct rank rank[RANKS];
};

static struct ranks make_ranks(uint32_t timeout_ms)
{
    struct ranks ranks = { .options = BALLAST_ATTENTION_CP_OPTIONS_INIT };
    ranks.options.ranks = RANKS;
    ranks.options.timeout_ms = timeout_ms;
    cr_assert_eq(ballast_attention_cp_make_id(&ranks.options.id, NULL), BALLAST_ATTENTION_OK);
    return ranks;
}

static void join(int number, void *context)
{
    struct ranks *ranks = context;
    struct rank *rank = &ranks->rank[number];
    ballast_attention_cp_options options = ranks->options;
    options.rank = (uint32_t)number;
    cudaSetDevice(number);
    rank->status = ballast_attention_cp_open(&options, &rank->cp, &rank->error);
}

static void leave(int number, void *context)
{
    cudaSetDevice(number);
    ballast_attention_cp_close(((struct ranks *)context)->rank[number].cp);
}

static void cr_assert_joined(struct ranks *ranks)
{
    rank_threads_run(RANKS, join, ranks);
    for (int i = 0; i < RANKS; i++)
        cr_assert_eq(ranks->rank[i].status, BALLAST_ATTENTION_OK, "%s", ranks->rank[i].error.text);
}

Test(group, ranks_come_and_go)
{
    for (int time = 0; time < 3; time++) {
        struct ranks ranks = make_ranks(LONG_MS);
        cr_assert_joined(&ranks);
        rank_threads_run(RANKS, leave, &ranks);
        cr_assert_clean();
    }
}

static void join_but_the_last(int number, void *context)
{
    if (number != RANKS - 1)
        join(number, context);
}

Test(group, a_rank_that_does_not_come_is_waited_for_so_long)
{
    struct ranks ranks = make_ranks(SHORT_MS);
    rank_threads_run(RANKS, join_but_the_last, &ranks);
    for (int i = 0; i < RANKS - 1; i++) {
        cr_assert_eq(ranks.rank[i].status, BALLAST_ATTENTION_TIMEOUT);
        cr_assert(strstr(ranks.rank[i].error.text, "joining the group, rank"), "%s",
                  ranks.rank[i].error.text);
        cr_assert_null(ranks.rank[i].cp, "untouched on failure");
    }
    cr_assert_clean();
}

Test(group, initialisation_fails_on_one_rank)
{
    nccl_stand_in_set_fault(
        1, &(struct nccl_stand_in_fault){ .init_fails = true, .error = ncclSystemError });
    struct ranks ranks = make_ranks(SHORT_MS);
    rank_threads_run(RANKS, join, &ranks);
    cr_assert_eq(ranks.rank[1].status, BALLAST_ATTENTION_COMMUNICATION);
    cr_assert(strstr(ranks.rank[1].error.text, "unhandled system error"), "%s",
              ranks.rank[1].error.text);
    cr_assert_eq(ranks.rank[0].status, BALLAST_ATTENTION_OK);
    rank_threads_run(1, leave, &ranks); /* in vain, since rank 1 is not there: after the timeout */
    ballast_attention_cp_abort(ranks.rank[2].cp);
    ballast_attention_cp_close(ranks.rank[2].cp);
    cr_assert_clean();
}

static void *abort_group(void *cp)
{
    ballast_attention_cp_abort(cp);
    return NULL;
}

/* Rank 0 has something on a stream that never ends: it gathers alone. */
static cudaStream_t gather_alone(ballast_attention_cp *cp, float *memory)
{
    cr_assert_eq(group_all_gather(cp, memory, memory + 1, 1, ncclFloat32, NULL),
                 BALLAST_ATTENTION_OK);
    return cp->exchange;
}

static float *device_floats(void)
{
    float values[1 + RANKS] = { 0 };
    void *memory = NULL;
    cudaMalloc(&memory, sizeof values);
    cudaMemcpy(memory, values, sizeof values, cudaMemcpyHostToDevice);
    return memory;
}

static void end_all(struct ranks *ranks)
{
    for (int i = 0; i < RANKS; i++) {
        ballast_attention_cp_abort(ranks->rank[i].cp);
        ballast_attention_cp_close(ranks->rank[i].cp);
    }
}

Test(group, an_abort_from_another_thread_ends_a_wait)
{
    struct ranks ranks = make_ranks(LONG_MS);
    cr_assert_joined(&ranks);
    ballast_attention_cp *cp = ranks.rank[0].cp;
    float *memory = device_floats();
    cudaStream_t stream = gather_alone(cp, memory);
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, abort_group, cp), 0);
    ballast_attention_error error;
    cr_assert_eq(ballast_attention_cp_wait(cp, stream, &error), BALLAST_ATTENTION_ABORTED);
    cr_assert_str_eq(error.text, "the group was aborted");
    pthread_join(thread, NULL);
    cr_assert_eq(cudaStreamSynchronize(stream), cudaSuccess, "it has run empty");
    cr_assert_eq(group_all_gather(cp, memory, memory + 1, 1, ncclFloat32, &error),
                 BALLAST_ATTENTION_ABORTED, "and stays so");
    cudaFree(memory);
    end_all(&ranks);
    cr_assert_clean();
}

Test(group, a_wait_ends_at_its_deadline)
{
    struct ranks ranks = make_ranks(SHORT_MS);
    cr_assert_joined(&ranks);
    ballast_attention_cp *cp = ranks.rank[0].cp;
    float *memory = device_floats();
    cudaStream_t stream = gather_alone(cp, memory);
    ballast_attention_error error;
    cr_assert_eq(ballast_attention_cp_wait(cp, stream, &error), BALLAST_ATTENTION_TIMEOUT);
    cr_assert(strstr(error.text, "rank 0 of 3: nothing within 200 ms"), "%s", error.text);
    cr_assert_eq(cudaStreamSynchronize(stream), cudaSuccess);
    cr_assert_eq(ballast_attention_cp_wait(cp, stream, &error), BALLAST_ATTENTION_TIMEOUT,
                 "the first reason stands");
    ballast_attention_cp_abort(cp);
    cr_assert_eq(ballast_attention_cp_wait(cp, stream, NULL), BALLAST_ATTENTION_TIMEOUT);
    cudaFree(memory);
    end_all(&ranks);
    cr_assert_clean();
}

Test(group, an_asynchronous_error_ends_a_wait)
{
    nccl_stand_in_set_fault(
        0, &(struct nccl_stand_in_fault){ .fails_at = 1, .error = ncclRemoteError });
    struct ranks ranks = make_ranks(LONG_MS);
    cr_assert_joined(&ranks);
    float *memory = device_floats();
    cudaStream_t stream = gather_alone(ranks.rank[0].cp, memory);
    ballast_attention_error error;
    cr_assert_eq(ballast_attention_cp_wait(ranks.rank[0].cp, stream, &error),
                 BALLAST_ATTENTION_COMMUNICATION);
    cr_assert(strstr(error.text, "rank 0 of 3: NCCL: remote process exited"), "%s", error.text);
    cr_assert_eq(cudaStreamSynchronize(stream), cudaSuccess);
    cudaFree(memory);
    end_all(&ranks);
    cr_assert_clean();
}

Test(group, a_wait_for_nothing_is_none)
{
    struct ranks ranks = make_ranks(LONG_MS);
    cr_assert_joined(&ranks);
    cr_assert_eq(ballast_attention_cp_wait(ranks.rank[0].cp, ranks.rank[0].cp->exchange, NULL),
                 BALLAST_ATTENTION_OK);
    cr_assert_eq(ballast_attention_cp_wait(NULL, NULL, NULL), BALLAST_ATTENTION_INVALID);
    rank_threads_run(RANKS, leave, &ranks);
    cr_assert_clean();
}

Test(group, who_closes_with_work_on_the_way_loses_it)
{
    struct ranks ranks = make_ranks(SHORT_MS);
    cr_assert_joined(&ranks);
    float *memory = device_floats();
    gather_alone(ranks.rank[0].cp, memory);
    rank_threads_run(RANKS, leave, &ranks);
    cudaFree(memory);
    cr_assert_clean();
}

static ballast_attention_status open_with(uint32_t ranks, uint32_t rank, uint32_t timeout_ms)
{
    ballast_attention_cp_options options = BALLAST_ATTENTION_CP_OPTIONS_INIT;
    options.ranks = ranks;
    options.rank = rank;
    options.timeout_ms = timeout_ms;
    ballast_attention_cp *cp = NULL;
    ballast_attention_status status = ballast_attention_cp_open(&options, &cp, NULL);
    cr_assert_null(cp);
    return status;
}

Test(group, options_are_checked)
{
    cr_assert_eq(open_with(0, 0, 0), BALLAST_ATTENTION_INVALID);
    cr_assert_eq(open_with(BALLAST_ATTENTION_CP_MAX_RANKS + 1, 0, 0), BALLAST_ATTENTION_INVALID);
    cr_assert_eq(open_with(2, 2, 0), BALLAST_ATTENTION_INVALID);
    cr_assert_eq(open_with(2, 1, 3600001), BALLAST_ATTENTION_INVALID);
    ballast_attention_cp_options options = { .ranks = 1 };
    ballast_attention_cp *cp = NULL;
    cr_assert_eq(ballast_attention_cp_open(&options, &cp, NULL), BALLAST_ATTENTION_INVALID);
    cr_assert_eq(ballast_attention_cp_open(NULL, &cp, NULL), BALLAST_ATTENTION_INVALID);
    ballast_attention_cp_close(NULL);
    ballast_attention_cp_abort(NULL);
}
