#include "kernels/cp/streams.h"

#include "kernels/cp/cuda_error.h"
#include "kernels/cp/rows.h"

ballast_attention_status streams_mark(const struct run *run, cudaStream_t stream, cudaEvent_t event)
{
    return cuda_error(run->error, cudaEventRecord(event, stream), "recording an event");
}

ballast_attention_status streams_await(const struct run *run, cudaStream_t stream,
                                       cudaEvent_t event)
{
    return cuda_error(run->error, cudaStreamWaitEvent(stream, event, 0), "waiting for an event");
}

ballast_attention_status streams_wait(const struct run *run, cudaStream_t waiting,
                                      cudaStream_t passing, cudaEvent_t event)
{
    ballast_attention_status status = streams_mark(run, passing, event);
    return status == BALLAST_ATTENTION_OK ? streams_await(run, waiting, event) : status;
}

/* Values from a row to the next; 0 in a call means dense over all KV heads. */
static size_t stride_of(const ballast_attention_cp_problem *problem, int64_t stride)
{
    return stride ? (size_t)stride : (size_t)problem->kv_heads * problem->head_dim;
}

ballast_attention_status streams_pack(const struct run *run, const void *const tensors[2],
                                      const int64_t strides[2], uint32_t head, size_t place,
                                      cudaStream_t stream)
{
    const ballast_attention_cp_problem *problem = run->problem;
    size_t row_bytes = (size_t)problem_row_values(problem) / 2 * PROBLEM_VALUE_BYTES;
    size_t first = (size_t)head * problem->head_dim * PROBLEM_VALUE_BYTES;
    cudaError_t result = cudaSuccess;
    for (int i = 0; i < 2 && result == cudaSuccess; i++) {
        struct row_move move = {
            .from = (const char *)tensors[i] + first,
            .to = (char *)problem_at(problem, place) + (size_t)i * row_bytes,
            .count = problem->padded_tokens,
            .row_bytes = row_bytes,
            .from_stride = stride_of(problem, strides[i]) * PROBLEM_VALUE_BYTES,
            .to_stride = 2 * row_bytes,
        };
        result = rows_move(&move, stream);
    }
    return cuda_error(run->error, result, "packing keys and values");
}

ballast_attention_status streams_unpack(const struct run *run, size_t place, uint32_t head,
                                        const struct gradients *to, cudaStream_t stream)
{
    const ballast_attention_cp_problem *problem = run->problem;
    uint32_t values = problem_row_values(problem), width = values / 2;
    size_t value_bytes = to->type == BALLAST_ATTENTION_F32 ? sizeof(float) : PROBLEM_VALUE_BYTES;
    size_t first = (size_t)head * problem->head_dim * value_bytes;
    cudaError_t result = cudaSuccess;
    for (uint32_t i = 0; i < 2 && result == cudaSuccess; i++) {
        struct row_convert convert = {
            .from = (const float *)problem_at(problem, place) + (size_t)i * width,
            .to = (char *)to->tensors[i] + first,
            .type = to->type,
            .count = problem->padded_tokens,
            .width = width,
            .from_stride = values,
            .to_stride = stride_of(problem, to->strides[i]),
        };
        result = rows_convert(&convert, stream);
    }
    return cuda_error(run->error, result, "rounding gradients of keys and values");
}
