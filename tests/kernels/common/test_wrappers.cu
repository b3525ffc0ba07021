/* One tiny kernel for each wrapper of kernels/common, against what a loop computes. */
#include "tests/kernels/common/check.h"

#include "kernels/common/async_copy.h"
#include "kernels/common/barrier.h"
#include "kernels/common/fast_math.h"
#include "kernels/common/launch.h"
#include "kernels/common/matrix.h"
#include "kernels/common/memory.h"
#include "kernels/common/warp.h"
#include <cmath>
#include <cstring>

using namespace gpu;
using check::device_array;

namespace
{

/* Numbers that bf16 and fp16 hold exactly, so that results compare with ==. */
float small_number(size_t i)
{
    return static_cast<float>(static_cast<int>(i * 7 % 17) - 8) / 4;
}

template <class T> std::vector<T> small_numbers(size_t count)
{
    std::vector<T> numbers(count);
    for (size_t i = 0; i < count; i++)
        numbers[i] =
            T{ static_cast<uint16_t>(std::is_same_v<T, bf16> ? bf16_from_float(small_number(i))
                                                             : fp16_from_float(small_number(i))) };
    return numbers;
}

GPU_KERNEL(64, 1) who_kernel(int *out)
{
    int at = block_index() * 64 + thread_index();
    global_store(out + at, block_count() * 10000 + warp_index() * 100 + lane_index());
}

void threads_know_who_they_are()
{
    device_array<int> out(192);
    CHECK_CUDA(launch(who_kernel, { 3, 64, 0, nullptr }, out.get()));
    std::vector<int> found = out.values();
    for (int i = 0; i < 192; i++)
        CHECK(found[static_cast<size_t>(i)] == 30000 + i % 64 / 32 * 100 + i % 32);
}

GPU_KERNEL(32, 1) shuffle_kernel(float *out)
{
    auto mine = static_cast<float>(lane_index());
    float flipped = shuffle_xor(mine, 5);
    float third = shuffle(mine, 3);
    int next = shuffle(lane_index(), lane_index() + 1);
    global_store(out + lane_index(), flipped * 10000 + third * 100 + static_cast<float>(next));
}

void shuffles_bring_the_other_lane()
{
    device_array<float> out(32);
    CHECK_CUDA(launch(shuffle_kernel, { 1, 32, 0, nullptr }, out.get()));
    std::vector<float> found = out.values();
    for (int i = 0; i < 32; i++)
        CHECK(found[static_cast<size_t>(i)] ==
              static_cast<float>((i ^ 5) * 10000 + 300 + (i + 1) % 32));
}

} // namespace

int main()
{
    return check::run_all({
        { "threads know who they are", threads_know_who_they_are },
        { "shuffles bring the other lane", shuffles_bring_the_other_lane },
    });
}
