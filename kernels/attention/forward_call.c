#include "kernels/attention/call.h"
#include "kernels/attention/path.h"

static ballast_attention_status check(const ballast_attention_problem *problem,
                                      const ballast_attention_forward_call *call,
                                      struct attention_arguments *arguments,
                                      ballast_attention_error *error)
{
    if (call->size != sizeof *call || call->version != 1)
        return attention_error(error, BALLAST_ATTENTION_INVALID,
                               "forward: size %zu, version %u: begin with "
                               "BALLAST_ATTENTION_FORWARD_INIT",
                               call->size, call->version);
    ballast_attention_type type = problem->layout.type;
    const struct call_tensor tensors[] = {
        { "q", call->q, call->q_stride, type, false },
        { "k", call->k, call->k_stride, type, true },
        { "v", call->v, call->v_stride, type, true },
        { "out", call->out, call->out_stride, call->out_type, false },
        { "lse", call->lse, 0, BALLAST_ATTENTION_F32, false },
    };
    int64_t lse_stride = 0;
    int64_t *strides[] = { &arguments->q_stride, &arguments->k_stride, &arguments->v_stride,
                           &arguments->result_stride, &lse_stride };
    ballast_attention_status status = BALLAST_ATTENTION_OK;
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors && status == BALLAST_ATTENTION_OK; i++)
        status = call_check_tensor(problem, arguments, &tensors[i], strides[i], error);
    return status;
}

ballast_attention_status ballast_attention_forward(const ballast_attention_problem *problem,
                                                   const ballast_attention_forward_call *call,
                                                   ballast_attention_stream stream,
                                                   ballast_attention_error *error)
{
    struct attention_arguments arguments;
    const struct attention_path *path;
    ballast_attention_status status = call_begin(problem, call->kv_heads, &arguments, error);
    if (status == BALLAST_ATTENTION_OK)
        status = check(problem, call, &arguments, error);
    if (status == BALLAST_ATTENTION_OK)
        status = attention_path_choose(&problem->layout, &path, error);
    if (status != BALLAST_ATTENTION_OK)
        return status;
    arguments.q = call->q;
    arguments.k = call->k;
    arguments.v = call->v;
    arguments.result = call->out;
    arguments.lse = call->lse;
    arguments.result_float = call->out_type == BALLAST_ATTENTION_F32;
    return attention_launch(problem, path->forward, COUNTER_FORWARD,
                            problem->tiles.query_tile_count, &arguments, stream, error);
}
