#include "kernels/cp/ring.h"

#include "kernels/cp/cuda_error.h"
#include "kernels/cp/rows.h"
#include "kernels/cp/streams.h"

static size_t exchange_values(const struct run *run)
{
    return (size_t)run->problem->padded_tokens * problem_row_values(run->problem);
}

/* Own keys stand ready to be sent and used. */
static ballast_attention_status begin(const struct run *run, const void *k, const void *v,
                                      int64_t k_stride, int64_t v_stride)
{
    const void *tensors[2] = { k, v };
    int64_t strides[2] = { k_stride, v_stride };
    ballast_attention_status status =
        streams_pack(run, tensors, strides, 0, run->problem->ring.keys[0], run->stream);
    if (status == BALLAST_ATTENTION_OK)
        status = streams_wait(run, run->cp->exchange, run->stream, run->cp->event.begun);
    return status;
}

/* Sends the keys of step `step` on and brings those of the next, while they are being used. */
static ballast_attention_status pass_keys(const struct run *run, uint32_t step)
{
    ballast_attention_cp *cp = run->cp;
    const size_t *keys = run->problem->ring.keys;
    uint32_t turn = step % 2, next = 1 - turn;
    if (step + 1 == run->problem->ranks)
        return BALLAST_ATTENTION_OK;
    ballast_attention_status status = BALLAST_ATTENTION_OK;
    if (step > 0)
        status = streams_await(run, cp->exchange, cp->event.used[next]);
    if (status == BALLAST_ATTENTION_OK)
        status = group_shift(cp, problem_at(run->problem, keys[turn]),
                             problem_at(run->problem, keys[next]), exchange_values(run),
                             problem_nccl_type(run->problem), run->error);
    if (status == BALLAST_ATTENTION_OK)
        status = streams_mark(run, cp->exchange, cp->event.arrived[next]);
    return status;
}

/* The keys of a step may be used; those of the next are on the way. */
static ballast_attention_status advance(const struct run *run, uint32_t step)
{
    ballast_attention_status status = pass_keys(run, step);
    if (status == BALLAST_ATTENTION_OK && step > 0)
        status = streams_await(run, run->stream, run->cp->event.arrived[step % 2]);
    return status;
}

static const void *keys_at(const struct run *run, uint32_t step, int which)
{
    const ballast_attention_cp_problem *problem = run->problem;
    return (const char *)problem_at(problem, problem->ring.keys[step % 2]) +
           (size_t)which * (problem_row_values(problem) / 2) * PROBLEM_VALUE_BYTES;
}

static ballast_attention_status merge(const struct run *run, float *lse)
{
    const ballast_attention_cp_problem *problem = run->problem;
    struct row_merge merge = {
        .out = problem_at(problem, problem->ring.out),
        .lse = lse,
        .part_out = problem_at(problem, problem->ring.part_out),
        .part_lse = problem_at(problem, problem->ring.part_lse),
        .rows = problem->padded_tokens,
        .heads = problem->heads,
        .head_dim = problem->head_dim,
    };
    return cuda_error(run->error, rows_merge(&merge, run->stream), "merging steps of a ring");
}

/* The first step's result is what the others are merged into. */
static ballast_attention_status forward_step(const struct run *run,
                                             const ballast_attention_forward_call *call,
                                             uint32_t step)
{
    const ballast_attention_cp_problem *problem = run->problem;
    const struct ring_places *places = &problem->ring;
    ballast_attention_forward_call part = *call;
    part.k = keys_at(run, step, 0);
    part.v = keys_at(run, step, 1);
    part.k_stride = part.v_stride = problem_row_values(problem);
    part.out = problem_at(problem, step == 0 ? places->out : places->part_out);
    part.out_type = BALLAST_ATTENTION_F32;
    part.out_stride = 0;
    if (step > 0)
        part.lse = problem_at(problem, places->part_lse);
    ballast_attention_status status =
        ballast_attention_forward(problem->parts[step], &part, run->stream, run->error);
    if (status == BALLAST_ATTENTION_OK)
        status = streams_mark(run, run->stream, run->cp->event.used[step % 2]);
    if (status == BALLAST_ATTENTION_OK && step > 0)
        status = merge(run, call->lse);
    return status;
}

/* Sums over the steps, rounded once, for a tensor of queries. */
static ballast_attention_status store(const struct run *run, size_t place, void *to,
                                      ballast_attention_type type, int64_t stride)
{
    const ballast_attention_cp_problem *problem = run->problem;
    uint32_t width = problem->heads * problem->head_dim;
    struct row_convert convert = {
        .from = problem_at(problem, place),
        .to = to,
        .type = type,
        .count = problem->padded_tokens,
        .width = width,
        .from_stride = width,
        .to_stride = stride ? (size_t)stride : width,
    };
    return cuda_error(run->error, rows_convert(&convert, run->stream),
                      "rounding results of a ring");
}

ballast_attention_status ring_forward(const struct run *run,
                                      const ballast_attention_forward_call *call)
{
    ballast_attention_status status = begin(run, call->k, call->v, call->k_stride, call->v_stride);
    for (uint32_t step = 0; status == BALLAST_ATTENTION_OK && step < run->problem->ranks; step++) {
        status = advance(run, step);
        if (status == BALLAST_ATTENTION_OK)
            status = forward_step(run, call, step);
    }
    if (status == BALLAST_ATTENTION_OK)
        status = store(run, run->problem->ring.out, call->out, call->out_type, call->out_stride);
    return status;
}

static ballast_attention_status add(const struct run *run, size_t to, size_t from, size_t count)
{
    return cuda_error(
        run->error,
        rows_add(problem_at(run->problem, to), problem_at(run->problem, from), count, run->stream),
        "adding up gradients of a ring");
}

/* Rows of padding of the rank whose keys these are: attention does not know of them. */
static ballast_attention_status clear_padding(const struct run *run, uint32_t step)
{
    const ballast_attention_cp_problem *problem = run->problem;
    size_t row_bytes = problem_row_values(problem) * sizeof(float);
    ballast_attention_facts facts;
    ballast_attention_get_facts(problem->parts[step], &facts);
    char *gradients = problem_at(problem, problem->ring.parts[step % 2]);
    cudaError_t result =
        cudaMemsetAsync(gradients + facts.key_tokens * row_bytes, 0,
                        (problem->padded_tokens - facts.key_tokens) * row_bytes, run->stream);
    return cuda_error(run->error, result, "clearing padding");
}

/* This rank's part of the gradients; that of the queries is added to those of the steps before. */
static ballast_attention_status backward_step(const struct run *run,
                                              const ballast_attention_backward_call *call,
                                              uint32_t step)
{
    const ballast_attention_cp_problem *problem = run->problem;
    const struct ring_places *places = &problem->ring;
    float *gradients = problem_at(problem, places->parts[step % 2]);
    size_t q_gradient = step == 0 ? places->q_gradient : places->part_q_gradient;
    uint32_t values = problem_row_values(problem);
    ballast_attention_backward_call part = *call;
    part.k = keys_at(run, step, 0);
    part.v = keys_at(run, step, 1);
    part.k_stride = part.v_stride = values;
    part.q_gradient = problem_at(problem, q_gradient);
    part.q_gradient_type = part.kv_gradient_type = BALLAST_ATTENTION_F32;
    part.q_gradient_stride = 0;
    part.k_gradient = gradients;
    part.v_gradient = gradients + values / 2;
    part.k_gradient_stride = part.v_gradient_stride = values;
    ballast_attention_status status =
        ballast_attention_backward(problem->parts[step], &part, run->stream, run->error);
    if (status == BALLAST_ATTENTION_OK)
        status = streams_mark(run, run->stream, run->cp->event.used[step % 2]);
    if (status == BALLAST_ATTENTION_OK)
        status = clear_padding(run, step);
    if (status == BALLAST_ATTENTION_OK && step > 0)
        status = add(run, places->q_gradient, places->part_q_gradient,
                     (size_t)problem->padded_tokens * problem->heads * problem->head_dim);
    return status;
}

/* Adds what the ranks before have for these keys, and sends the sum after the keys. */
static ballast_attention_status pass_gradients(const struct run *run, uint32_t step)
{
    ballast_attention_cp *cp = run->cp;
    const struct ring_places *places = &run->problem->ring;
    uint32_t turn = step % 2;
    ballast_attention_status status = BALLAST_ATTENTION_OK;
    if (step > 0)
        status = streams_await(run, run->stream, cp->event.sent[1 - turn]);
    if (status == BALLAST_ATTENTION_OK && step > 0)
        status = add(run, places->parts[turn], places->sums, exchange_values(run));
    if (status == BALLAST_ATTENTION_OK)
        status = streams_wait(run, cp->exchange, run->stream, cp->event.computed[turn]);
    if (status == BALLAST_ATTENTION_OK)
        status = group_shift(cp, problem_at(run->problem, places->parts[turn]),
                             problem_at(run->problem, places->sums), exchange_values(run),
                             ncclFloat32, run->error);
    if (status == BALLAST_ATTENTION_OK)
        status = streams_mark(run, cp->exchange, cp->event.sent[turn]);
    return status;
}

/* Gradients of own keys have come home with the last step. */
static ballast_attention_status end(const struct run *run,
                                    const ballast_attention_backward_call *call)
{
    const struct ring_places *places = &run->problem->ring;
    struct gradients to = { { call->k_gradient, call->v_gradient },
                            { call->k_gradient_stride, call->v_gradient_stride },
                            call->kv_gradient_type };
    uint32_t last = run->problem->ranks - 1;
    ballast_attention_status status =
        streams_await(run, run->stream, run->cp->event.sent[last % 2]);
    if (status == BALLAST_ATTENTION_OK)
        status = streams_unpack(run, places->sums, 0, &to, run->stream);
    if (status == BALLAST_ATTENTION_OK)
        status = store(run, places->q_gradient, call->q_gradient, call->q_gradient_type,
                       call->q_gradient_stride);
    return status;
}

ballast_attention_status ring_backward(const struct run *run,
                                       const ballast_attention_backward_call *call)
{
    ballast_attention_status status = begin(run, call->k, call->v, call->k_stride, call->v_stride);
    for (uint32_t step = 0; status == BALLAST_ATTENTION_OK && step < run->problem->ranks; step++) {
        status = advance(run, step);
        if (status == BALLAST_ATTENTION_OK)
            status = backward_step(run, call, step);
        if (status == BALLAST_ATTENTION_OK)
            status = pass_gradients(run, step);
    }
    return status == BALLAST_ATTENTION_OK ? end(run, call) : status;
}
