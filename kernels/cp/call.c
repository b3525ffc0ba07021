/* Forward and backward as the caller sees them: checked whole, before anything is exchanged. */
#include "kernels/attention/error.h"
#include "kernels/cp/all_gather.h"
#include "kernels/cp/ring.h"

#define INVALID BALLAST_ATTENTION_INVALID

static ballast_attention_status check_objects(ballast_attention_cp *cp,
                                              const ballast_attention_cp_problem *problem,
                                              ballast_attention_error *error)
{
    if (!cp || !problem)
        return attention_error(error, INVALID, "group or problem: found NULL");
    if (!problem->workspace)
        return attention_error(error, INVALID, "problem: it was not uploaded");
    if (problem->ranks != cp->ranks || problem->rank != cp->rank)
        return attention_error(error, INVALID,
                               "problem: it is for rank %u of %u, the group for %u of %u",
                               problem->rank, problem->ranks, cp->rank, cp->ranks);
    return group_status(cp, error);
}

/* A tensor of K or V, or of their gradients: what attention.h demands, which sees copies only. */
static ballast_attention_status check_tensor(const ballast_attention_cp_problem *problem,
                                             const char *name, const void *tensor, int64_t stride,
                                             ballast_attention_error *error)
{
    int64_t dense = (int64_t)problem->kv_heads * problem->head_dim;
    if (!tensor || (uintptr_t)tensor % 16 != 0)
        return attention_error(error, INVALID,
                               "%s: expected memory of the device, aligned to 16 bytes", name);
    if (stride != 0 && (stride < dense || stride % 8 != 0))
        return attention_error(error, INVALID,
                               "%s stride: found %lld, expected a multiple of 8 from %lld on, or 0",
                               name, (long long)stride, (long long)dense);
    return BALLAST_ATTENTION_OK;
}

static ballast_attention_status check_heads(ballast_attention_heads heads,
                                            ballast_attention_error *error)
{
    if (heads.first == 0 && heads.count == 0)
        return BALLAST_ATTENTION_OK;
    return attention_error(error, INVALID, "kv_heads: found %u from %u, expected { 0, 0 }: all",
                           heads.count, heads.first);
}

static ballast_attention_status check_type(const ballast_attention_cp_problem *problem,
                                           const char *name, ballast_attention_type type,
                                           ballast_attention_error *error)
{
    if (type == problem->type || type == BALLAST_ATTENTION_F32)
        return BALLAST_ATTENTION_OK;
    return attention_error(error, INVALID, "%s: found %d, expected the layout's type %d or F32",
                           name, (int)type, (int)problem->type);
}

static ballast_attention_status check_forward(const ballast_attention_cp_problem *problem,
                                              const ballast_attention_forward_call *call,
                                              ballast_attention_error *error)
{
    if (!call || call->size != sizeof *call || call->version != 1)
        return attention_error(error, INVALID,
                               "call: expected BALLAST_ATTENTION_FORWARD_INIT of this version");
    ballast_attention_status status = check_heads(call->kv_heads, error);
    if (status == BALLAST_ATTENTION_OK)
        status = check_type(problem, "out_type", call->out_type, error);
    if (status == BALLAST_ATTENTION_OK)
        status = check_tensor(problem, "k", call->k, call->k_stride, error);
    if (status == BALLAST_ATTENTION_OK)
        status = check_tensor(problem, "v", call->v, call->v_stride, error);
    return status;
}

static ballast_attention_status check_gradients(const ballast_attention_cp_problem *problem,
                                                const ballast_attention_backward_call *call,
                                                ballast_attention_error *error)
{
    ballast_attention_status status =
        check_type(problem, "kv_gradient_type", call->kv_gradient_type, error);
    if (status == BALLAST_ATTENTION_OK)
        status = check_type(problem, "q_gradient_type", call->q_gradient_type, error);
    if (status == BALLAST_ATTENTION_OK)
        status =
            check_tensor(problem, "k_gradient", call->k_gradient, call->k_gradient_stride, error);
    if (status == BALLAST_ATTENTION_OK)
        status =
            check_tensor(problem, "v_gradient", call->v_gradient, call->v_gradient_stride, error);
    return status;
}

static ballast_attention_status check_backward(const ballast_attention_cp_problem *problem,
                                               const ballast_attention_backward_call *call,
                                               ballast_attention_error *error)
{
    if (!call || call->size != sizeof *call || call->version != 1)
        return attention_error(error, INVALID,
                               "call: expected BALLAST_ATTENTION_BACKWARD_INIT of this version");
    ballast_attention_status status = check_heads(call->kv_heads, error);
    if (status == BALLAST_ATTENTION_OK)
        status = check_tensor(problem, "k", call->k, call->k_stride, error);
    if (status == BALLAST_ATTENTION_OK)
        status = check_tensor(problem, "v", call->v, call->v_stride, error);
    return status == BALLAST_ATTENTION_OK ? check_gradients(problem, call, error) : status;
}

/* What failed half-way leaves the ranks out of step: then the group is at its end. */
static ballast_attention_status conclude(const struct run *run, ballast_attention_status status,
                                         ballast_attention_error *error)
{
    if (status == BALLAST_ATTENTION_OK)
        return status;
    group_end(run->cp, status, run->error->text);
    if (error)
        *error = *run->error;
    return status;
}

ballast_attention_status ballast_attention_cp_forward(ballast_attention_cp *cp,
                                                      const ballast_attention_cp_problem *problem,
                                                      const ballast_attention_forward_call *call,
                                                      ballast_attention_stream stream,
                                                      ballast_attention_error *error)
{
    ballast_attention_status status = check_objects(cp, problem, error);
    if (status == BALLAST_ATTENTION_OK)
        status = check_forward(problem, call, error);
    if (status != BALLAST_ATTENTION_OK)
        return status;
    ballast_attention_error text = { "" };
    struct run run = { cp, problem, stream, &text };
    status = problem->variant == BALLAST_ATTENTION_CP_RING ? ring_forward(&run, call)
                                                           : all_gather_forward(&run, call);
    return conclude(&run, status, error);
}

ballast_attention_status ballast_attention_cp_backward(ballast_attention_cp *cp,
                                                       const ballast_attention_cp_problem *problem,
                                                       const ballast_attention_backward_call *call,
                                                       ballast_attention_stream stream,
                                                       ballast_attention_error *error)
{
    ballast_attention_status status = check_objects(cp, problem, error);
    if (status == BALLAST_ATTENTION_OK)
        status = check_backward(problem, call, error);
    if (status != BALLAST_ATTENTION_OK)
        return status;
    ballast_attention_error text = { "" };
    struct run run = { cp, problem, stream, &text };
    status = problem->variant == BALLAST_ATTENTION_CP_RING ? ring_backward(&run, call)
                                                           : all_gather_backward(&run, call);
    return conclude(&run, status, error);
}
