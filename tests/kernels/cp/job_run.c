/* A job on all its ranks. */
#include "job_rank.h"
#include "rank_threads.h"

struct ranks {
    const struct job *job;
    struct job_results *results;
    struct job_rank *ranks;
};

static ballast_attention_status open_group(const struct job *job, int rank,
                                           ballast_attention_cp **ret_cp,
                                           ballast_attention_error *error)
{
    ballast_attention_cp_options options = BALLAST_ATTENTION_CP_OPTIONS_INIT;
    options.ranks = job->ranks;
    options.rank = (uint32_t)rank;
    options.id = job->id;
    options.timeout_ms = job->timeout_ms[rank];
    return ballast_attention_cp_open(&options, ret_cp, error);
}

/* Forward and backward, and nothing on the way any more when it returns. */
static ballast_attention_status compute(const struct job *job, ballast_attention_cp *cp,
                                        ballast_attention_cp_problem *problem,
                                        const struct rank_tensors *tensors,
                                        ballast_attention_error *error)
{
    ballast_attention_forward_call forward = rank_forward(tensors, job);
    ballast_attention_backward_call backward = rank_backward(tensors, job);
    ballast_attention_status status = ballast_attention_cp_upload(
        problem, tensors->workspace, ballast_attention_cp_workspace_bytes(problem), tensors->stream,
        error);
    if (status == BALLAST_ATTENTION_OK)
        status = ballast_attention_cp_forward(cp, problem, &forward, tensors->stream, error);
    if (status == BALLAST_ATTENTION_OK)
        status = ballast_attention_cp_backward(cp, problem, &backward, tensors->stream, error);
    if (status == BALLAST_ATTENTION_OK)
        status = ballast_attention_cp_wait(cp, tensors->stream, error);
    cudaStreamSynchronize(tensors->stream);
    return status;
}

static ballast_attention_status run_rank(const struct ranks *all, int rank,
                                         ballast_attention_cp *cp)
{
    const struct job *job = all->job;
    struct job_rank *told = &all->ranks[rank];
    ballast_attention_layout layout = job_layout(job);
    ballast_attention_cp_plan plan = job_plan(job, (uint32_t)rank);
    ballast_attention_cp_problem *problem;
    ballast_attention_status status =
        ballast_attention_cp_problem_new(&layout, &plan, &problem, &told->error);
    if (status != BALLAST_ATTENTION_OK)
        return status;
    struct rank_tensors tensors;
    size_t bytes = ballast_attention_cp_workspace_bytes(problem);
    status = BALLAST_ATTENTION_DEVICE;
    if (rank_tensors_init(job, (uint32_t)rank, bytes, &tensors))
        status = compute(job, cp, problem, &tensors, &told->error);
    if (status == BALLAST_ATTENTION_OK)
        rank_results(&tensors, job, (uint32_t)rank, all->results, &told->padding_is_zero);
    ballast_attention_cp_problem_free(problem);
    rank_tensors_fini(&tensors);
    return status;
}

static void body(int rank, void *context)
{
    const struct ranks *all = context;
    struct job_rank *told = &all->ranks[rank];
    ballast_attention_cp *cp;
    cudaSetDevice(rank);
    *told = (struct job_rank){ 0 };
    told->open = told->run = open_group(all->job, rank, &cp, &told->error);
    if (told->open != BALLAST_ATTENTION_OK)
        return;
    told->run = run_rank(all, rank, cp);
    ballast_attention_cp_close(cp);
}

void job_run(const struct job *job, struct job_results *results,
             struct job_rank ranks[JOB_MOST_RANKS])
{
    struct ranks all = { job, results, ranks };
    rank_threads_run((int)job->ranks, body, &all);
}
