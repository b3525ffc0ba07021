#include "kernels/attention/call.h"
#include "kernels/attention/path.h"

static ballast_attention_status check_tensors(const ballast_attention_problem *problem,
                                              const ballast_attention_backward_call *call,
                                              struct attention_arguments *arguments,
                                              ballast_attention_error *error)
{
    ballast_attention_type type = problem->layout.type, of_keys = call->kv_gradient_type;
    const struct call_tensor tensors[] = {
        { "q", call->q, call->q_stride, type, false },
        { "k", call->k, call->k_stride, type, true },
        { "v", call->v, call->v_stride, type, true },
        { "out", call->out, call->out_stride, call->out_type, false },
        { "lse", call->lse, 0, BALLAST_ATTENTION_F32, false },
        { "out_gradient", call->out_gradient, call->out_gradient_stride, type, false },
        { "q_gradient", call->q_gradient, call->q_gradient_stride, call->q_gradient_type, false },
        { "k_gradient", call->k_gradient, call->k_gradient_stride, of_keys, true },
        { "v_gradient", call->v_gradient, call->v_gradient_stride, of_keys, true },
    };
    int64_t lse_stride = 0;
    int64_t *strides[] = {
        &arguments->q_stride,
        &arguments->k_stride,
        &arguments->v_stride,
        &arguments->out_stride,
        &lse_stride,
        &arguments->out_gradient_stride,
        &arguments->result_stride,
        &arguments->k_gradient_stride,
        &arguments->v_gradient_stride,
    };
    ballast_attention_status status = BALLAST_ATTENTION_OK;
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors && status == BALLAST_ATTENTION_OK; i++)
        status = call_check_tensor(problem, arguments, &tensors[i], strides[i], error);
    return status;
}

static ballast_attention_status fill(const ballast_attention_problem *problem,
                                     const ballast_attention_backward_call *call,
                                     struct attention_arguments *arguments,
                                     ballast_attention_error *error)
{
    if (call->size != sizeof *call || call->version != 1)
        return attention_error(error, BALLAST_ATTENTION_INVALID,
                               "backward: size %zu, version %u: begin with "
                               "BALLAST_ATTENTION_BACKWARD_INIT",
                               call->size, call->version);
    ballast_attention_status status = check_tensors(problem, call, arguments, error);
    if (status != BALLAST_ATTENTION_OK)
        return status;
    arguments->q = call->q;
    arguments->k = call->k;
    arguments->v = call->v;
    arguments->out = call->out;
    arguments->lse = (float *)(uintptr_t)call->lse;
    arguments->out_gradient = call->out_gradient;
    arguments->result = call->q_gradient;
    arguments->k_gradient = call->k_gradient;
    arguments->v_gradient = call->v_gradient;
    arguments->out_float = call->out_type == BALLAST_ATTENTION_F32;
    arguments->result_float = call->q_gradient_type == BALLAST_ATTENTION_F32;
    arguments->kv_gradient_float = call->kv_gradient_type == BALLAST_ATTENTION_F32;
    return BALLAST_ATTENTION_OK;
}

ballast_attention_status ballast_attention_backward(const ballast_attention_problem *problem,
                                                    const ballast_attention_backward_call *call,
                                                    ballast_attention_stream stream,
                                                    ballast_attention_error *error)
{
    struct attention_arguments arguments;
    const struct attention_path *path;
    ballast_attention_status status = call_begin(problem, call->kv_heads, &arguments, error);
    if (status == BALLAST_ATTENTION_OK)
        status = fill(problem, call, &arguments, error);
    if (status == BALLAST_ATTENTION_OK)
        status = attention_path_choose(&problem->layout, &path, error);
    if (status == BALLAST_ATTENTION_OK)
        status = attention_launch_row_facts(problem, &arguments, stream, error);
    if (status == BALLAST_ATTENTION_OK)
        status = attention_launch(problem, path->backward_keys, COUNTER_BACKWARD_KEYS,
                                  problem->tiles.key_tile_count, &arguments, stream, error);
    if (status == BALLAST_ATTENTION_OK)
        status = attention_launch(problem, path->backward_queries, COUNTER_BACKWARD_QUERIES,
                                  problem->tiles.query_tile_count, &arguments, stream, error);
    return status;
}
