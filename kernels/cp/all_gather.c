#include "kernels/cp/all_gather.h"

#include "kernels/cp/cuda_error.h"
#include "kernels/cp/rows.h"
#include "kernels/cp/streams.h"

/* Where a call has K and V, of the rank's own rows. */
struct key_tensors {
    const void *tensors[2];
    int64_t strides[2];
};

static uint32_t first_head(const struct run *run, uint32_t group)
{
    return group * run->problem->group_heads;
}

/* Puts the rows of one place into another in an order that a table gives. */
static ballast_attention_status order(const struct run *run, size_t from, size_t to, size_t table,
                                      uint32_t count, size_t value_bytes)
{
    const ballast_attention_cp_problem *problem = run->problem;
    size_t row_bytes = problem_row_values(problem) * value_bytes;
    struct row_move move = {
        .from = problem_at(problem, from),
        .to = problem_at(problem, to),
        .which = problem_at(problem, table),
        .count = count,
        .row_bytes = row_bytes,
        .from_stride = row_bytes,
        .to_stride = row_bytes,
    };
    return cuda_error(run->error, rows_move(&move, run->stream), "putting rows in order");
}

/* Brings the keys of a group, on the exchange stream. */
static ballast_attention_status gather(const struct run *run, const struct key_tensors *keys,
                                       uint32_t group)
{
    ballast_attention_cp *cp = run->cp;
    const ballast_attention_cp_problem *problem = run->problem;
    uint32_t turn = group % 2;
    ballast_attention_status status = BALLAST_ATTENTION_OK;
    if (group >= 2)
        status = streams_await(run, cp->exchange, cp->event.used[turn]);
    if (status == BALLAST_ATTENTION_OK)
        status = streams_pack(run, keys->tensors, keys->strides, first_head(run, group),
                              problem->gather.own, cp->exchange);
    if (status == BALLAST_ATTENTION_OK)
        status = group_all_gather(cp, problem_at(problem, problem->gather.own),
                                  problem_at(problem, problem->gather.gathered[turn]),
                                  (size_t)problem->padded_tokens * problem_row_values(problem),
                                  problem_nccl_type(problem), run->error);
    if (status == BALLAST_ATTENTION_OK)
        status = streams_mark(run, cp->exchange, cp->event.arrived[turn]);
    return status;
}

/* Waits for the keys of a group and puts them into the order of the sequence. */
static ballast_attention_status receive(const struct run *run, uint32_t group)
{
    ballast_attention_cp *cp = run->cp;
    const ballast_attention_cp_problem *problem = run->problem;
    uint32_t turn = group % 2;
    ballast_attention_status status = streams_await(run, run->stream, cp->event.arrived[turn]);
    if (status == BALLAST_ATTENTION_OK)
        status = order(run, problem->gather.gathered[turn], problem->gather.keys,
                       problem->gather.exchanged, problem->map.tokens, PROBLEM_VALUE_BYTES);
    if (status == BALLAST_ATTENTION_OK)
        status = streams_mark(run, run->stream, cp->event.used[turn]);
    return status;
}

/* The first group, once the tensors of the call are ready. */
static ballast_attention_status begin(const struct run *run, const struct key_tensors *keys)
{
    ballast_attention_status status =
        streams_wait(run, run->cp->exchange, run->stream, run->cp->event.begun);
    return status == BALLAST_ATTENTION_OK ? gather(run, keys, 0) : status;
}

/* The keys of a group, while those of the next are being brought. */
static ballast_attention_status advance(const struct run *run, const struct key_tensors *keys,
                                        uint32_t group)
{
    ballast_attention_status status = BALLAST_ATTENTION_OK;
    if (group + 1 < run->problem->groups)
        status = gather(run, keys, group + 1);
    return status == BALLAST_ATTENTION_OK ? receive(run, group) : status;
}

/* K and V of the group lie side by side, in rows of an exchange. */
static const void *keys_at(const struct run *run, int which)
{
    const ballast_attention_cp_problem *problem = run->problem;
    return (const char *)problem_at(problem, problem->gather.keys) +
           (size_t)which * (problem_row_values(problem) / 2) * PROBLEM_VALUE_BYTES;
}

static ballast_attention_status forward_group(const struct run *run,
                                              const ballast_attention_forward_call *call,
                                              uint32_t group)
{
    ballast_attention_forward_call part = *call;
    part.kv_heads = (ballast_attention_heads){ first_head(run, group), run->problem->group_heads };
    part.k = keys_at(run, 0);
    part.v = keys_at(run, 1);
    part.k_stride = part.v_stride = problem_row_values(run->problem);
    return ballast_attention_forward(run->problem->parts[0], &part, run->stream, run->error);
}

ballast_attention_status all_gather_forward(const struct run *run,
                                            const ballast_attention_forward_call *call)
{
    struct key_tensors keys = { { call->k, call->v }, { call->k_stride, call->v_stride } };
    ballast_attention_status status = begin(run, &keys);
    for (uint32_t g = 0; status == BALLAST_ATTENTION_OK && g < run->problem->groups; g++) {
        status = advance(run, &keys, g);
        if (status == BALLAST_ATTENTION_OK)
            status = forward_group(run, call, g);
    }
    return status;
}

/* This rank's part of the gradients of all keys of a group, in the order of ranks. */
static ballast_attention_status backward_group(const struct run *run,
                                               const ballast_attention_backward_call *call,
                                               uint32_t group)
{
    const ballast_attention_cp_problem *problem = run->problem;
    float *gradients = problem_at(problem, problem->gather.gradients);
    uint32_t values = problem_row_values(problem), turn = group % 2;
    ballast_attention_backward_call part = *call;
    part.kv_heads = (ballast_attention_heads){ first_head(run, group), problem->group_heads };
    part.k = keys_at(run, 0);
    part.v = keys_at(run, 1);
    part.k_stride = part.v_stride = values;
    part.k_gradient = gradients;
    part.v_gradient = gradients + values / 2;
    part.k_gradient_stride = part.v_gradient_stride = values;
    part.kv_gradient_type = BALLAST_ATTENTION_F32;
    ballast_attention_status status =
        ballast_attention_backward(problem->parts[0], &part, run->stream, run->error);
    if (status == BALLAST_ATTENTION_OK && group >= 2)
        status = streams_await(run, run->stream, run->cp->event.sent[turn]);
    if (status == BALLAST_ATTENTION_OK)
        status = order(run, problem->gather.gradients, problem->gather.parts[turn],
                       problem->gather.token, problem->map.exchanged_rows, sizeof(float));
    return status;
}

/* Adds up the parts of all ranks; this rank's rows go where the call wants them. */
static ballast_attention_status reduce(const struct run *run,
                                       const ballast_attention_backward_call *call, uint32_t group)
{
    ballast_attention_cp *cp = run->cp;
    const ballast_attention_cp_problem *problem = run->problem;
    uint32_t turn = group % 2;
    struct gradients to = { { call->k_gradient, call->v_gradient },
                            { call->k_gradient_stride, call->v_gradient_stride },
                            call->kv_gradient_type };
    ballast_attention_status status =
        streams_wait(run, cp->exchange, run->stream, cp->event.computed[turn]);
    if (status == BALLAST_ATTENTION_OK)
        status = group_reduce_scatter(cp, problem_at(problem, problem->gather.parts[turn]),
                                      problem_at(problem, problem->gather.sums),
                                      (size_t)problem->padded_tokens * problem_row_values(problem),
                                      run->error);
    if (status == BALLAST_ATTENTION_OK)
        status =
            streams_unpack(run, problem->gather.sums, first_head(run, group), &to, cp->exchange);
    if (status == BALLAST_ATTENTION_OK)
        status = streams_mark(run, cp->exchange, cp->event.sent[turn]);
    return status;
}

ballast_attention_status all_gather_backward(const struct run *run,
                                             const ballast_attention_backward_call *call)
{
    struct key_tensors keys = { { call->k, call->v }, { call->k_stride, call->v_stride } };
    uint32_t groups = run->problem->groups;
    ballast_attention_status status = begin(run, &keys);
    for (uint32_t g = 0; status == BALLAST_ATTENTION_OK && g < groups; g++) {
        status = advance(run, &keys, g);
        if (status == BALLAST_ATTENTION_OK)
            status = backward_group(run, call, g);
        if (status == BALLAST_ATTENTION_OK)
            status = reduce(run, call, g);
    }
    if (status == BALLAST_ATTENTION_OK)
        status = streams_await(run, run->stream, run->cp->event.sent[(groups - 1) % 2]);
    return status;
}
