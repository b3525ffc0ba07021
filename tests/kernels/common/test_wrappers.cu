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

GPU_KERNEL(32, 1) warp_sync_kernel(int *out)
{
    auto *slots = reinterpret_cast<int *>(shared_memory());
    shared_store(slots + lane_index(), lane_index() * 3);
    warp_sync();
    global_store(out + lane_index(), shared_load(slots + 31 - lane_index()));
}

void a_warp_sees_its_own_stores_after_a_sync()
{
    device_array<int> out(32);
    CHECK_CUDA(launch(warp_sync_kernel, { 1, 32, 128, nullptr }, out.get()));
    std::vector<int> found = out.values();
    for (int i = 0; i < 32; i++)
        CHECK(found[static_cast<size_t>(i)] == (31 - i) * 3);
}

GPU_KERNEL(128, 1) block_barrier_kernel(int *out)
{
    auto *slots = reinterpret_cast<int *>(shared_memory());
    for (int round = 0; round < 3; round++) {
        shared_store(slots + thread_index(), thread_index() + round);
        block_barrier();
        global_store(out + round * 128 + thread_index(), shared_load(slots + 127 - thread_index()));
        block_barrier();
    }
}

void a_block_sees_its_stores_after_a_barrier()
{
    device_array<int> out(384);
    CHECK_CUDA(launch(block_barrier_kernel, { 1, 128, 512, nullptr }, out.get()));
    std::vector<int> found = out.values();
    for (int i = 0; i < 384; i++)
        CHECK(found[static_cast<size_t>(i)] == 127 - i % 128 + i / 128);
}

/* Warps 0 and 1 hand slots to warp 2 and do not wait for it; warp 2 then meets warp 3. */
GPU_KERNEL(128, 1) named_barrier_kernel(int *out)
{
    auto *slots = reinterpret_cast<int *>(shared_memory());
    if (warp_index() < 2) {
        shared_store(slots + thread_index(), thread_index() + 7);
        named_barrier_arrive(1, 96);
    } else {
        if (warp_index() == 2) {
            named_barrier(1, 96);
            int sum = shared_load(slots + lane_index()) + shared_load(slots + 32 + lane_index());
            shared_store(slots + 64 + lane_index(), sum);
        }
        named_barrier(2, 64);
        if (warp_index() == 3)
            global_store(out + lane_index(), shared_load(slots + 64 + lane_index()));
    }
}

void named_barriers_are_for_some_warps()
{
    device_array<int> out(32);
    CHECK_CUDA(launch(named_barrier_kernel, { 1, 128, 384, nullptr }, out.get()));
    std::vector<int> found = out.values();
    for (int i = 0; i < 32; i++)
        CHECK(found[static_cast<size_t>(i)] == 2 * i + 46);
}

struct alignas(16) four_words {
    uint32_t word[4];
};

GPU_KERNEL(32, 1)
memory_kernel(const four_words *from, four_words *to, const uint16_t *half, uint16_t *half_out)
{
    auto *here = reinterpret_cast<four_words *>(shared_memory());
    shared_store(here + lane_index(), global_load(from + lane_index()));
    global_store(to + lane_index(), shared_load(here + lane_index()));
    auto *small = reinterpret_cast<uint16_t *>(shared_memory() + 512);
    shared_store(small + lane_index(), global_load(half + lane_index()));
    global_store(half_out + lane_index(), shared_load(small + lane_index()));
}

void loads_and_stores_of_all_widths()
{
    std::vector<four_words> wide(32);
    std::vector<uint16_t> narrow(32);
    for (uint32_t i = 0; i < 32; i++) {
        wide[i] = { { i, i + 100, i + 200, i + 300 } };
        narrow[i] = static_cast<uint16_t>(i * 5);
    }
    device_array<four_words> from(wide), to(32);
    device_array<uint16_t> half(narrow), half_out(32);
    CHECK_CUDA(launch(memory_kernel, { 1, 32, 576, nullptr }, from.get(), to.get(), half.get(),
                      half_out.get()));
    CHECK(std::memcmp(to.values().data(), wide.data(), 32 * sizeof wide[0]) == 0);
    CHECK(half_out.values() == narrow);
}

GPU_KERNEL(32, 2) take_next_kernel(int *counter, int *taken_by)
{
    for (;;) {
        int mine = 0;
        if (lane_index() == 0)
            mine = take_next(counter);
        mine = shuffle(mine, 0);
        if (mine >= 100)
            return;
        if (lane_index() == 0)
            global_store(taken_by + mine, block_index());
    }
}

void every_tile_is_taken_once()
{
    device_array<int> counter(std::vector<int>{ 0 }), taken_by(100);
    CHECK_CUDA(launch(take_next_kernel, { 4, 32, 0, nullptr }, counter.get(), taken_by.get()));
    for (int block : taken_by.values())
        CHECK(block >= 0 && block < 4);
    CHECK(counter.values()[0] == 104);
}

/* Two groups on the way at once; the odd rows are not valid and become zeros. */
GPU_KERNEL(64, 1) copy_kernel(const four_words *from, four_words *to)
{
    auto *here = reinterpret_cast<four_words *>(shared_memory());
    for (int group = 0; group < 2; group++) {
        int at = group * 64 + thread_index();
        copy_async_16(here + at, from + at, thread_index() % 2 == 0);
        copy_async_commit();
    }
    copy_async_wait<1>();
    block_barrier();
    global_store(to + thread_index(), shared_load(here + (63 - thread_index())));
    copy_async_wait<0>();
    block_barrier();
    global_store(to + 64 + thread_index(), shared_load(here + (127 - thread_index())));
}

void copies_arrive_by_groups()
{
    std::vector<four_words> host(128);
    for (uint32_t i = 0; i < 128; i++)
        host[i] = { { i + 1, i + 2, i + 3, i + 4 } };
    device_array<four_words> from(host), to(128);
    CHECK_CUDA(launch(copy_kernel, { 1, 64, 2048, nullptr }, from.get(), to.get()));
    std::vector<four_words> found = to.values();
    for (uint32_t i = 0; i < 128; i++) {
        uint32_t source = i < 64 ? 63 - i : 64 + 127 - i;
        CHECK(found[i].word[3] == (source % 2 == 0 ? source + 4 : 0));
    }
}

/* Four 8 x 8 matrices, one below another; out is what each lane got, plain and transposed. */
GPU_KERNEL(32, 1) ldmatrix_kernel(const uint16_t *from, uint32_t *out)
{
    auto *here = reinterpret_cast<uint16_t *>(shared_memory());
    for (int i = lane_index(); i < 256; i += 32)
        shared_store(here + i, global_load(from + i));
    warp_sync();
    uint32_t plain[4], transposed[4];
    ldmatrix_x4(plain, here + lane_index() * 8);
    ldmatrix_x4_trans(transposed, here + lane_index() * 8);
    for (int i = 0; i < 4; i++) {
        global_store(out + lane_index() * 8 + i, plain[i]);
        global_store(out + lane_index() * 8 + 4 + i, transposed[i]);
    }
}

void ldmatrix_deals_rows_and_columns()
{
    std::vector<uint16_t> numbers(256);
    for (size_t i = 0; i < 256; i++)
        numbers[i] = static_cast<uint16_t>(i);
    device_array<uint16_t> from(numbers);
    device_array<uint32_t> out(256);
    CHECK_CUDA(launch(ldmatrix_kernel, { 1, 32, 512, nullptr }, from.get(), out.get()));
    std::vector<uint32_t> found = out.values();
    for (uint32_t lane = 0; lane < 32; lane++) {
        for (uint32_t matrix = 0; matrix < 4; matrix++) {
            uint32_t group = lane / 4, pair = lane % 4 * 2, base = matrix * 64;
            uint32_t plain = base + group * 8 + pair, transposed = base + pair * 8 + group;
            CHECK(found[lane * 8 + matrix] == (plain | (plain + 1) << 16));
            CHECK(found[lane * 8 + 4 + matrix] == (transposed | (transposed + 8) << 16));
        }
    }
}

template <class T> GPU_DEVICE uint32_t pair_of(const T *first, int step)
{
    return global_load(first).bits | static_cast<uint32_t>(global_load(first + step).bits) << 16;
}

/* A is 16 x 16 and B 16 x 16, of which the first product takes the left half. */
template <class T> GPU_KERNEL(32, 1) mma_kernel(const T *a, const T *b, float *narrow, float *wide)
{
    int group = lane_index() / 4, pair = lane_index() % 4 * 2;
    uint32_t fa[4], fb[4];
    for (int i = 0; i < 4; i++) {
        fa[i] = pair_of(a + (group + i % 2 * 8) * 16 + pair + i / 2 * 8, 1);
        fb[i] = pair_of(b + (pair + i % 2 * 8) * 16 + group + i / 2 * 8, 16);
    }
    float c[3][4];
    for (int i = 0; i < 12; i++)
        c[i / 4][i % 4] = 1.0F;
    mma_m16n8k16<T>(c[0], fa, fb);
    mma_m16n16k16<T>(c[1], c[2], fa, fb);
    for (int i = 0; i < 4; i++) {
        int row = group + i / 2 * 8, column = pair + i % 2;
        global_store(narrow + row * 8 + column, c[0][i]);
        global_store(wide + row * 16 + column, c[1][i]);
        global_store(wide + row * 16 + column + 8, c[2][i]);
    }
}

template <class T> void mma_multiplies()
{
    device_array<T> a(small_numbers<T>(256)), b(small_numbers<T>(300));
    device_array<float> narrow(128), wide(256);
    CHECK_CUDA(
        launch(mma_kernel<T>, { 1, 32, 0, nullptr }, a.get(), b.get(), narrow.get(), wide.get()));
    std::vector<float> found = narrow.values(), all = wide.values();
    for (size_t row = 0; row < 16; row++) {
        for (size_t column = 0; column < 16; column++) {
            float sum = 1;
            for (size_t k = 0; k < 16; k++)
                sum += small_number(row * 16 + k) * small_number(k * 16 + column);
            CHECK(all[row * 16 + column] == sum);
            CHECK(column >= 8 || found[row * 8 + column] == sum);
        }
    }
}

template <class T> GPU_KERNEL(32, 1) number_kernel(const float *from, uint32_t *pairs, float *back)
{
    float number = global_load(from + lane_index());
    uint32_t pair = pack2<T>(number, -number);
    global_store(pairs + lane_index(), pair);
    global_store(back + lane_index(), to_float(from_float<T>(number)));
    global_store(back + 32 + lane_index(), high_of<T>(pair));
}

/* Ties, subnormal numbers of fp16, the largest ones and what lies beyond. */
const std::vector<float> hard_numbers = {
    0.0F,        1.0F,        1.00390625F,    1.01171875F,   3.0e-8F, 6.0e-8F, 5.9e-5F,
    6.1e-5F,     65504.0F,    65519.0F,       65520.0F,      3.4e38F, 1.5F,    0.1F,
    1.00048828F, 1.00146484F, 2.98023224e-8F, 8.9406967e-8F, 1e-7F,   1e-6F,   1e-5F,
    1e-4F,       1e-3F,       123.456F,       2047.5F,       2049.0F, 2051.0F, 4098.0F,
    1e-39F,      INFINITY,    0.333333F,      7.0F,
};

template <class T, float to_number(uint16_t), uint16_t from_number(float)> void numbers_round()
{
    device_array<float> from(hard_numbers), back(64);
    device_array<uint32_t> pairs(32);
    CHECK_CUDA(
        launch(number_kernel<T>, { 1, 32, 0, nullptr }, from.get(), pairs.get(), back.get()));
    std::vector<uint32_t> found = pairs.values();
    std::vector<float> floats = back.values();
    for (size_t i = 0; i < 32; i++) {
        uint16_t bits = from_number(hard_numbers[i]);
        CHECK(found[i] == (bits | static_cast<uint32_t>(bits ^ 0x8000U) << 16));
        CHECK(floats[i] == to_number(bits) && floats[32 + i] == -to_number(bits));
    }
}

GPU_KERNEL(32, 1) powers_kernel(float *out)
{
    auto x = static_cast<float>(lane_index()) * 0.37F - 9.0F;
    global_store(out + lane_index(), exp2_fast(x));
    global_store(out + 32 + lane_index(), log2_fast(x + 10.0F));
    if (lane_index() == 0)
        global_store(out + 64, exp2_fast(-INFINITY));
}

void powers_are_close()
{
    device_array<float> out(65);
    CHECK_CUDA(launch(powers_kernel, { 1, 32, 0, nullptr }, out.get()));
    std::vector<float> found = out.values();
    for (size_t i = 0; i < 32; i++) {
        double x = static_cast<double>(static_cast<float>(i) * 0.37F - 9.0F);
        CHECK(std::fabs(found[i] / std::exp2(x) - 1) < 4e-7);
        CHECK(std::fabs(found[32 + i] - std::log2(x + 10.0)) < 1e-6);
    }
    CHECK(found[64] == 0.0F);
}

void a_grid_fits_the_device()
{
    int blocks = 0;
    CHECK_CUDA(blocks_per_device(block_barrier_kernel, 128, 64 << 10, &blocks));
    CHECK(blocks >= 1);
    CHECK(launch(shuffle_kernel, { 1, 32, 1 << 20, nullptr }, nullptr) != cudaSuccess);
    (void)cudaGetLastError();
}

} // namespace

int main()
{
    return check::run_all({
        { "threads know who they are", threads_know_who_they_are },
        { "shuffles bring the other lane", shuffles_bring_the_other_lane },
        { "a warp sees its own stores after a sync", a_warp_sees_its_own_stores_after_a_sync },
        { "a block sees its stores after a barrier", a_block_sees_its_stores_after_a_barrier },
        { "named barriers are for some warps", named_barriers_are_for_some_warps },
        { "loads and stores of all widths", loads_and_stores_of_all_widths },
        { "every tile is taken once", every_tile_is_taken_once },
        { "copies arrive by groups", copies_arrive_by_groups },
        { "ldmatrix deals rows and columns", ldmatrix_deals_rows_and_columns },
        { "mma multiplies bf16", mma_multiplies<bf16> },
        { "mma multiplies fp16", mma_multiplies<fp16> },
        { "numbers round to bf16", numbers_round<bf16, bf16_to_float, bf16_from_float> },
        { "numbers round to fp16", numbers_round<fp16, fp16_to_float, fp16_from_float> },
        { "powers are close", powers_are_close },
        { "a grid fits the device", a_grid_fits_the_device },
    });
}
