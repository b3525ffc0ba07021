#include "kernels/attention/kernels.h"
#include "kernels/attention/launch.cuh"
#include "kernels/common/memory.h"
#include "kernels/common/warp.h"

namespace attention
{

constexpr int facts_threads = 128;
constexpr float log2_e = 1.44269504088896F;

template <class T> GPU_DEVICE float load_out(const void *out, int64_t index, bool is_float)
{
    return is_float ? gpu::global_load(static_cast<const float *>(out) + index)
                    : gpu::to_float(gpu::global_load(static_cast<const T *>(out) + index));
}

GPU_DEVICE float warp_sum(float value)
{
    for (int mask = 16; mask > 0; mask /= 2)
        value += gpu::shuffle_xor(value, mask);
    return value;
}

/* Item i is row i / heads, head i % heads of the call; a warp takes one at a time. */
template <class T, int D>
GPU_KERNEL(facts_threads, 8)
facts_kernel(const GPU_PARAMETER attention_arguments arguments)
{
    constexpr int warps = facts_threads / gpu::warp_threads;
    const int heads = arguments.kv_heads * arguments.group;
    const auto *out_gradient = static_cast<const T *>(arguments.out_gradient);
    for (int item = gpu::block_index() * warps + gpu::warp_index(); item < arguments.items;
         item += gpu::block_count() * warps) {
        const int row = item / heads;
        const int head = arguments.first_kv_head * arguments.group + item % heads;
        float sum = 0.0F;
        for (int i = gpu::lane_index(); i < D; i += gpu::warp_threads)
            sum += load_out<T>(arguments.out, row * arguments.out_stride + head * D + i,
                               arguments.out_float) *
                   gpu::to_float(gpu::global_load(
                       out_gradient + row * arguments.out_gradient_stride + head * D + i));
        sum = warp_sum(sum);
        if (gpu::lane_index() == 0) {
            const int64_t lse = static_cast<int64_t>(head) * arguments.padded_rows + row;
            gpu::global_store(&arguments.facts[static_cast<int64_t>(row) * arguments.heads + head],
                              row_facts{ gpu::global_load(&arguments.visible[row]),
                                         gpu::global_load(&arguments.lse[lse]) * log2_e, sum,
                                         0.0F });
        }
    }
}

struct facts_choice {
    template <class T, int D>
    static cudaError_t start(const attention_arguments &arguments, uint32_t blocks,
                             cudaStream_t stream)
    {
        return start_blocks(facts_kernel<T, D>, facts_threads, 0, arguments, blocks, stream);
    }
};

} // namespace attention

cudaError_t attention_find_row_facts(ballast_attention_type type, uint32_t head_dim,
                                     const attention_arguments *arguments, uint32_t blocks,
                                     cudaStream_t stream)
{
    return attention::choose<attention::facts_choice>(type, head_dim, *arguments, blocks, stream);
}
