#include "kernels/cp/rows.h"

#include <cmath>

#include "kernels/common/launch.h"
#include "kernels/common/memory.h"
#include "kernels/common/number.h"

namespace rows
{

using namespace gpu;

constexpr int threads = 256;
constexpr size_t most_blocks = 1024; /* threads go on from there in strides */

/* What a thread moves at once. */
struct alignas(16) unit {
    uint32_t words[4];
};

struct alignas(16) floats {
    float values[4];
};

/* Four numbers of a tensor. */
template <class T> struct alignas(4 * sizeof(T)) quad {
    T values[4];
};

GPU_DEVICE size_t first_index()
{
    return static_cast<size_t>(block_index()) * threads + static_cast<size_t>(thread_index());
}

GPU_DEVICE size_t index_stride()
{
    return static_cast<size_t>(block_count()) * threads;
}

GPU_KERNEL(threads, 1) move(struct row_move what)
{
    const uint8_t *from = static_cast<const uint8_t *>(what.from);
    uint8_t *to = static_cast<uint8_t *>(what.to);
    const size_t units = what.row_bytes / sizeof(unit);
    for (size_t i = first_index(); i < what.count * units; i += index_stride()) {
        const size_t row = i / units, offset = i % units * sizeof(unit);
        const uint32_t source =
            what.which ? global_load(what.which + row) : static_cast<uint32_t>(row);
        unit value = {};
        if (source != ROWS_NONE)
            value = global_load(
                reinterpret_cast<const unit *>(from + source * what.from_stride + offset));
        global_store(reinterpret_cast<unit *>(to + row * what.to_stride + offset), value);
    }
}

template <class T> GPU_KERNEL(threads, 1) convert(struct row_convert what)
{
    const size_t quads = what.width / 4;
    for (size_t i = first_index(); i < what.count * quads; i += index_stride()) {
        const size_t row = i / quads, column = i % quads * 4;
        const floats value = global_load(
            reinterpret_cast<const floats *>(what.from + row * what.from_stride + column));
        quad<T> rounded;
        GPU_UNROLL
        for (int j = 0; j < 4; j++)
            rounded.values[j] = from_float<T>(value.values[j]);
        T *to = static_cast<T *>(what.to) + row * what.to_stride + column;
        global_store(reinterpret_cast<quad<T> *>(to), rounded);
    }
}

GPU_KERNEL(threads, 1) add(float *to, const float *from, size_t count)
{
    for (size_t i = first_index() * 4; i < count; i += index_stride() * 4) {
        floats sum = global_load(reinterpret_cast<const floats *>(to + i));
        const floats more = global_load(reinterpret_cast<const floats *>(from + i));
        GPU_UNROLL
        for (int j = 0; j < 4; j++)
            sum.values[j] += more.values[j];
        global_store(reinterpret_cast<floats *>(to + i), sum);
    }
}

/* Weights of two sums of exponentials, given by their logarithms, in their sum. */
struct weights {
    float mine, part, sum;
};

GPU_DEVICE weights weigh(float mine, float part)
{
    if (part == -INFINITY)
        return { 1.0F, 0.0F, mine };
    if (mine == -INFINITY)
        return { 0.0F, 1.0F, part };
    const float most = fmaxf(mine, part);
    const float sum = most + logf(expf(mine - most) + expf(part - most));
    return { expf(mine - sum), expf(part - sum), sum };
}

/* A thread has some columns of one row and head; lse is written later, all still read it. */
GPU_KERNEL(threads, 1) merge_out(struct row_merge what)
{
    const size_t quads = what.head_dim / 4;
    const size_t count = static_cast<size_t>(what.rows) * what.heads * quads;
    for (size_t i = first_index(); i < count; i += index_stride()) {
        const size_t row = i / quads / what.heads, head = i / quads % what.heads;
        const size_t at = head * what.rows + row;
        const weights each = weigh(global_load(what.lse + at), global_load(what.part_lse + at));
        floats out = global_load(reinterpret_cast<const floats *>(what.out + i * 4));
        const floats part = global_load(reinterpret_cast<const floats *>(what.part_out + i * 4));
        GPU_UNROLL
        for (int j = 0; j < 4; j++)
            out.values[j] = out.values[j] * each.mine + part.values[j] * each.part;
        global_store(reinterpret_cast<floats *>(what.out + i * 4), out);
    }
}

GPU_KERNEL(threads, 1) merge_lse(float *lse, const float *part, size_t count)
{
    for (size_t i = first_index(); i < count; i += index_stride())
        global_store(lse + i, weigh(global_load(lse + i), global_load(part + i)).sum);
}

/* As many blocks as give every thread something to do. */
static launch_shape shape_for(size_t work, cudaStream_t stream)
{
    const size_t blocks = (work + threads - 1) / threads;
    const size_t bounded = blocks < most_blocks ? blocks : most_blocks;
    return launch_shape{ static_cast<int>(bounded), threads, 0, stream };
}

} // namespace rows

cudaError_t rows_move(const struct row_move *move, cudaStream_t stream)
{
    const size_t work = move->count * (move->row_bytes / sizeof(rows::unit));
    return work == 0 ? cudaSuccess : gpu::launch(rows::move, rows::shape_for(work, stream), *move);
}

cudaError_t rows_convert(const struct row_convert *convert, cudaStream_t stream)
{
    const size_t work = static_cast<size_t>(convert->count) * (convert->width / 4);
    if (work == 0)
        return cudaSuccess;
    const gpu::launch_shape shape = rows::shape_for(work, stream);
    switch (convert->type) {
    case BALLAST_ATTENTION_BF16:
        return gpu::launch(rows::convert<gpu::bf16>, shape, *convert);
    case BALLAST_ATTENTION_F16:
        return gpu::launch(rows::convert<gpu::fp16>, shape, *convert);
    case BALLAST_ATTENTION_F32:
        return gpu::launch(rows::convert<float>, shape, *convert);
    }
    return cudaErrorInvalidValue;
}

cudaError_t rows_add(float *to, const float *from, size_t count, cudaStream_t stream)
{
    return count == 0 ? cudaSuccess
                      : gpu::launch(rows::add, rows::shape_for(count / 4, stream), to, from, count);
}

cudaError_t rows_merge(const struct row_merge *merge, cudaStream_t stream)
{
    const size_t sums = static_cast<size_t>(merge->rows) * merge->heads;
    if (sums == 0)
        return cudaSuccess;
    const gpu::launch_shape shape = rows::shape_for(sums * (merge->head_dim / 4), stream);
    const cudaError_t failed = gpu::launch(rows::merge_out, shape, *merge);
    return failed != cudaSuccess ? failed
                                 : gpu::launch(rows::merge_lse, rows::shape_for(sums, stream),
                                               merge->lse, merge->part_lse, sums);
}
