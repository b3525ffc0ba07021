/*
 * Ranks that hang, fail or go in the middle of a job: everybody learns of it within the timeout,
 * nothing is left, and the process does the next job as if nothing had been.
 */
#include "clean.h"
#include "job.h"
#include "job_rank.h"
#include "rank_threads.h"

#define RANKS 3
#define TIMEOUT_MS 2000    /* to pass in vain */
#define PATIENCE_MS 600000 /* not to pass */

static struct job example(ballast_attention_cp_variant variant, uint32_t guilty_ms,
                          uint32_t others_ms)
{
    return (struct job){
        .strategy = CP_PER_DOCUMENT,
        .ranks = RANKS,
        .lengths = { 40, 9 },
        .heads = 4,
        .kv_heads = 4,
        .head_dim = 64,
        .variant = variant,
        .timeout_ms = { others_ms, guilty_ms, others_ms },
        .cut_off = true,
    };
}

static void run(struct job *job, struct job_rank ranks[JOB_MOST_RANKS])
{
    struct job_results results;
    cr_assert(job_init(job, 1) && job_results_init(job, &results));
    job_run(job, &results, ranks);
    job_results_fini(&results);
    job_fini(job);
}

/* The process is as good as new. */
static void cr_assert_recovered(ballast_attention_cp_variant variant)
{
    struct job_rank ranks[JOB_MOST_RANKS];
    struct job job = example(variant, PATIENCE_MS, PATIENCE_MS);
    for (int i = 0; i < RANKS; i++)
        nccl_stand_in_set_fault(i, NULL);
    run(&job, ranks);
    for (int i = 0; i < RANKS; i++)
        cr_assert_eq(ranks[i].run, BALLAST_ATTENTION_OK, "rank %d: %s", i, ranks[i].error.text);
    cr_assert_clean();
}

/* Rank 1 does wrong; what it is told, and what the others are. */
static void cr_assert_told(ballast_attention_cp_variant variant,
                           const struct nccl_stand_in_fault *fault, ballast_attention_status guilty,
                           ballast_attention_status others)
{
    struct job_rank ranks[JOB_MOST_RANKS];
    /* Who is to hear of an error must not be hurried by a slow machine. */
    struct job job = example(
        variant, guilty == BALLAST_ATTENTION_TIMEOUT ? TIMEOUT_MS : PATIENCE_MS, TIMEOUT_MS);
    nccl_stand_in_set_fault(1, fault);
    run(&job, ranks);
    for (int i = 0; i < RANKS; i++)
        cr_assert_eq(ranks[i].run, i == 1 ? guilty : others, "rank %d: %d: %s", i,
                     (int)ranks[i].run, ranks[i].error.text);
    cr_assert_recovered(variant);
}

/*
 * Operations: two groups of heads are gathered in forward, gathered in backward, and reduced; or
 * two exchanges of keys in forward, five of keys and gradients in backward.
 */
static void cr_assert_silence_told(ballast_attention_cp_variant variant, uint32_t operation)
{
    const struct nccl_stand_in_fault fault = { .silent_from = operation };
    cr_assert_told(variant, &fault, BALLAST_ATTENTION_TIMEOUT, BALLAST_ATTENTION_TIMEOUT);
}

Test(faults, a_rank_hangs_in_forward)
{
    cr_assert_silence_told(BALLAST_ATTENTION_CP_ALL_GATHER, 1);
    cr_assert_silence_told(BALLAST_ATTENTION_CP_RING, 2);
}

Test(faults, a_rank_hangs_in_backward)
{
    cr_assert_silence_told(BALLAST_ATTENTION_CP_ALL_GATHER, 6);
    cr_assert_silence_told(BALLAST_ATTENTION_CP_RING, 5);
}

static void cr_assert_failure_told(ballast_attention_cp_variant variant, uint32_t operation)
{
    const struct nccl_stand_in_fault fault = { .fails_at = operation, .error = ncclRemoteError };
    cr_assert_told(variant, &fault, BALLAST_ATTENTION_COMMUNICATION, BALLAST_ATTENTION_TIMEOUT);
}

Test(faults, nccl_fails_on_a_rank)
{
    cr_assert_failure_told(BALLAST_ATTENTION_CP_ALL_GATHER, 1);
    cr_assert_failure_told(BALLAST_ATTENTION_CP_ALL_GATHER, 4);
    cr_assert_failure_told(BALLAST_ATTENTION_CP_RING, 3);
}

/* NCCL that says "in progress" for longer than anybody waits. */
Test(faults, nccl_takes_no_orders)
{
    const struct nccl_stand_in_fault fault = { .polls = UINT32_MAX };
    cr_assert_told(BALLAST_ATTENTION_CP_ALL_GATHER, &fault, BALLAST_ATTENTION_TIMEOUT,
                   BALLAST_ATTENTION_TIMEOUT);
}

static bool is_computing(void *context)
{
    struct nccl_stand_in_counters counters;
    (void)context;
    nccl_stand_in_get_counters(&counters);
    return counters.collectives > 0 && counters.waiting > 0;
}

/* A program of its own: computes, and is aborted from another thread on the way. */
struct aborted {
    struct job job;
    ballast_attention_cp *cp;
    ballast_attention_status status;
};

static void compute_or_abort(int thread, void *context)
{
    struct aborted *aborted = context;
    cudaSetDevice(0);
    if (thread == 1) {
        rank_threads_await(is_computing, NULL);
        ballast_attention_cp_abort(aborted->cp);
        return;
    }
    struct rank_tensors tensors;
    ballast_attention_cp_problem *problem;
    ballast_attention_layout layout = job_layout(&aborted->job);
    ballast_attention_cp_plan plan = job_plan(&aborted->job, 0);
    ballast_attention_cp_problem_new(&layout, &plan, &problem, NULL);
    size_t bytes = ballast_attention_cp_workspace_bytes(problem);
    rank_tensors_init(&aborted->job, 0, bytes, &tensors);
    ballast_attention_cp_upload(problem, tensors.workspace, bytes, tensors.stream, NULL);
    ballast_attention_forward_call forward = rank_forward(&tensors, &aborted->job);
    aborted->status =
        ballast_attention_cp_forward(aborted->cp, problem, &forward, tensors.stream, NULL);
    if (aborted->status == BALLAST_ATTENTION_OK)
        aborted->status = ballast_attention_cp_wait(aborted->cp, tensors.stream, NULL);
    ballast_attention_cp_problem_free(problem);
    rank_tensors_fini(&tensors);
}

Test(faults, a_job_is_aborted_from_another_thread)
{
    struct aborted aborted = { .job = example(BALLAST_ATTENTION_CP_ALL_GATHER, PATIENCE_MS,
                                              PATIENCE_MS) };
    ballast_attention_cp_options options = BALLAST_ATTENTION_CP_OPTIONS_INIT;
    aborted.job.ranks = 1; /* the others are not needed: operation 2 meets nobody */
    nccl_stand_in_set_fault(0, &(struct nccl_stand_in_fault){ .silent_from = 2 });
    cr_assert(job_init(&aborted.job, 1));
    options.ranks = 1;
    options.timeout_ms = PATIENCE_MS;
    options.id = aborted.job.id;
    cr_assert_eq(ballast_attention_cp_open(&options, &aborted.cp, NULL), BALLAST_ATTENTION_OK);
    rank_threads_run(2, compute_or_abort, &aborted);
    cr_assert_eq(aborted.status, BALLAST_ATTENTION_ABORTED);
    ballast_attention_cp_close(aborted.cp);
    job_fini(&aborted.job);
    cr_assert_recovered(BALLAST_ATTENTION_CP_ALL_GATHER);
}
