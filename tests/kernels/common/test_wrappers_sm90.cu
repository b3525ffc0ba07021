/* One tiny kernel for each wrapper that needs a device of capability 9.0. */
#include "tests/kernels/common/check.h"

#include "kernels/common/barrier.h"
#include "kernels/common/launch.h"
#include "kernels/common/mbarrier.h"
#include "kernels/common/tensor_copy.h"
#include "kernels/common/warpgroup.h"

using namespace gpu;
using check::device_array;

namespace
{

constexpr int numbers_a_row = tensor_box_width;

template <class T> T half_of(float value)
{
    return T{ std::is_same_v<T, bf16> ? bf16_from_float(value) : fp16_from_float(value) };
}

/* Numbers that both types hold exactly, so that results compare with ==. */
float small_number(size_t i)
{
    return static_cast<float>(static_cast<int>(i * 7 % 17) - 8) / 4;
}

template <class T> std::vector<T> small_numbers(size_t count)
{
    std::vector<T> numbers(count);
    for (size_t i = 0; i < count; i++)
        numbers[i] = half_of<T>(small_number(i));
    return numbers;
}

GPU_DEVICE mbarrier *make_mbarriers(int offset, int count, int arrivals)
{
    auto *b = reinterpret_cast<mbarrier *>(shared_memory() + offset);
    if (thread_index() == 0) {
        for (int i = 0; i < count; i++)
            mbarrier_init(b + i, arrivals);
        fence_mbarrier_init();
    }
    block_barrier();
    return b;
}

/* Warp 0 makes numbers, warp 1 takes them, one slot for both: four rounds of two phases. */
GPU_KERNEL(64, 1) hand_over_kernel(int *out)
{
    mbarrier *full = make_mbarriers(128, 2, 32), *empty = full + 1;
    auto *slot = reinterpret_cast<int *>(shared_memory()) + lane_index();
    for (int round = 0; round < 4; round++) {
        if (warp_index() == 0) {
            mbarrier_wait(empty, (round & 1) ^ 1);
            shared_store(slot, round * 100 + lane_index());
            mbarrier_arrive(full);
        } else {
            mbarrier_wait(full, round & 1);
            global_store(out + round * 32 + lane_index(), shared_load(slot));
            mbarrier_arrive(empty);
        }
    }
}

void mbarriers_hand_over()
{
    device_array<int> out(128);
    CHECK_CUDA(launch(hand_over_kernel, { 1, 64, 144, nullptr }, out.get()));
    std::vector<int> found = out.values();
    for (int i = 0; i < 128; i++)
        CHECK(found[static_cast<size_t>(i)] == i / 32 * 100 + i % 32);
}

/* A box of 64 x 3 x 5 as it lies in shared memory, chunk by chunk. */
GPU_KERNEL(32, 1)
box_kernel(const GPU_PARAMETER tensor_map map, int x, int y, int z, uint16_t *out)
{
    constexpr int rows = 15;
    mbarrier *arrived = make_mbarriers(2048, 1, 1);
    if (thread_index() == 0) {
        mbarrier_arrive_expect(arrived, box_bytes(3, 5));
        copy_box(shared_memory(), &map, arrived, x, y, z);
    }
    mbarrier_wait(arrived, 0);
    for (int i = lane_index(); i < rows * numbers_a_row; i += 32) {
        int row = i / 64, chunk = i % 64 / 8;
        auto *at = reinterpret_cast<const uint16_t *>(shared_memory() + row * 128 +
                                                      (chunk ^ (row & 7)) * 16);
        global_store(out + i, shared_load(at + i % 8));
    }
}

void check_box(const tensor_map &map, int x, int y, int z)
{
    constexpr int width = 128, height = 4, depth = 7;
    device_array<uint16_t> out(15 * 64);
    CHECK_CUDA(launch(box_kernel, { 1, 32, 2056, nullptr }, map, x, y, z, out.get()));
    std::vector<uint16_t> found = out.values();
    for (int i = 0; i < 15 * 64; i++) {
        int column = x + i % 64, row = y + i / 64 % 3, plane = z + i / 64 / 3;
        bool inside = column < width && row >= 0 && row < height && plane >= 0 && plane < depth;
        int expected = inside ? column + row * width + plane * width * height : 0;
        CHECK(found[static_cast<size_t>(i)] == expected);
    }
}

void boxes_come_swizzled_with_zeros_outside()
{
    std::vector<uint16_t> numbers(128 * 4 * 7);
    for (size_t i = 0; i < numbers.size(); i++)
        numbers[i] = static_cast<uint16_t>(i);
    device_array<uint16_t> tensor(numbers);
    tensor_map map;
    CHECK_CUDA(make_tensor_map({ tensor.get(), 128, 4, 7, 128, 512, 3, 5 }, &map));
    check_box(map, 0, 0, 0);
    check_box(map, 64, 1, 2);
    check_box(map, 64, 2, 4);
    check_box(map, 0, -1, 6);
    CHECK(make_tensor_map({ tensor.get(), 128, 4, 7, 127, 512, 3, 5 }, &map) != cudaSuccess);
}

/* Shared memory of the products: A is 64 x 64, B 128 rows of 64, or 64 rows of 128 in two boxes. */
constexpr int a_bytes = 64 * 128, b_offset = a_bytes, b_bytes = 128 * 128;
constexpr int product_barrier = b_offset + b_bytes, product_bytes = product_barrier + 8;

GPU_DEVICE void copy_operands(const tensor_map &a, const tensor_map &b, int b_boxes)
{
    mbarrier *arrived = make_mbarriers(product_barrier, 1, 1);
    if (thread_index() == 0) {
        mbarrier_arrive_expect(arrived, a_bytes + b_bytes);
        copy_box(shared_memory(), &a, arrived, 0, 0, 0);
        for (int i = 0; i < b_boxes; i++)
            copy_box(shared_memory() + b_offset + i * b_bytes / b_boxes, &b, arrived, i * 64, 0, 0);
    }
    mbarrier_wait(arrived, 0);
}

template <int Registers> GPU_DEVICE void store_product(const float (&d)[Registers], float *out)
{
    for (int i = 0; i < Registers; i++) {
        int row = warp_index() * 16 + lane_index() / 4 + i / 2 % 2 * 8;
        int column = i / 4 * 8 + lane_index() % 4 * 2 + i % 2;
        global_store(out + row * Registers * 2 + column, d[i]);
    }
}

/* out = 1 + A B^T over 64 numbers, the two halves of the columns by two groups. */
template <class T, int Columns>
GPU_KERNEL(128, 1)
keys_kernel(const GPU_PARAMETER tensor_map a, const GPU_PARAMETER tensor_map b, float *out)
{
    copy_operands(a, b, 1);
    const uint32_t left = shared_address(shared_memory());
    float d[Columns / 2], ones[Columns / 2];
    for (float &one : ones)
        one = 1.0F;
    hold_registers(ones);
    warpgroup_fence();
    GPU_UNROLL
    for (int k = 0; k < 4; k++)
        wgmma<T, b_rows::columns>(
            d, matrix_descriptor(left + static_cast<uint32_t>(k) * 32, 16),
            matrix_descriptor(left + b_offset + static_cast<uint32_t>(k) * 32, 16), k != 0);
    warpgroup_commit();
    wgmma<T, b_rows::columns>(ones, matrix_descriptor(left, 16),
                              matrix_descriptor(left + b_offset, 16), true);
    warpgroup_commit();
    warpgroup_wait<1>();
    hold_registers(d);
    store_product(d, out);
    warpgroup_wait<0>();
    hold_registers(ones);
    store_product(ones, out + 64 * Columns);
}

template <class T, int Columns> void keys_are_multiplied()
{
    device_array<T> a(small_numbers<T>(64 * 64)), b(small_numbers<T>(128 * 64));
    device_array<float> out(2 * 64 * Columns);
    tensor_map a_map, b_map;
    CHECK_CUDA(make_tensor_map({ a.get(), 64, 64, 1, 64, 4096, 64, 1 }, &a_map));
    CHECK_CUDA(make_tensor_map({ b.get(), 64, 128, 1, 64, 8192, 128, 1 }, &b_map));
    CHECK_CUDA(launch(keys_kernel<T, Columns>, { 1, 128, product_bytes, nullptr }, a_map, b_map,
                      out.get()));
    std::vector<float> found = out.values();
    for (size_t row = 0; row < 64; row++) {
        for (size_t column = 0; column < Columns; column++) {
            float all = 0, first = 0;
            for (size_t k = 0; k < 64; k++) {
                all += small_number(row * 64 + k) * small_number(column * 64 + k);
                first = k == 15 ? all : first;
            }
            CHECK(found[row * Columns + column] == all);
            CHECK(found[64 * Columns + row * Columns + column] == first + 1);
        }
    }
}

/* out = A B over 64 rows of B, with A from registers. */
template <class T, int Columns>
GPU_KERNEL(128, 1)
values_kernel(const GPU_PARAMETER tensor_map a, const GPU_PARAMETER tensor_map b, float *out)
{
    copy_operands(a, b, 2);
    const uint32_t right = shared_address(shared_memory()) + b_offset;
    uint32_t fragment[4][4];
    for (int i = 0; i < 16; i++) {
        int row = warp_index() * 16 + lane_index() / 4 + i % 2 * 8;
        int chunk = i / 4 * 2 + i % 4 / 2;
        fragment[i / 4][i % 4] = shared_load(reinterpret_cast<const uint32_t *>(
            shared_memory() + row * 128 + (chunk ^ (row & 7)) * 16 + lane_index() % 4 * 4));
    }
    float d[Columns / 2];
    warpgroup_fence();
    GPU_UNROLL
    for (int k = 0; k < 4; k++)
        wgmma<T, b_rows::k>(d, fragment[k],
                            matrix_descriptor(right + static_cast<uint32_t>(k) * 2048, b_bytes / 2),
                            k != 0);
    warpgroup_commit();
    warpgroup_wait<0>();
    hold_registers(d);
    store_product(d, out);
}

template <class T, int Columns> void values_are_multiplied()
{
    device_array<T> a(small_numbers<T>(64 * 64)), b(small_numbers<T>(64 * 128));
    device_array<float> out(64 * Columns);
    tensor_map a_map, b_map;
    CHECK_CUDA(make_tensor_map({ a.get(), 64, 64, 1, 64, 4096, 64, 1 }, &a_map));
    CHECK_CUDA(make_tensor_map({ b.get(), 128, 64, 1, 128, 8192, 64, 1 }, &b_map));
    CHECK_CUDA(launch(values_kernel<T, Columns>, { 1, 128, product_bytes, nullptr }, a_map, b_map,
                      out.get()));
    std::vector<float> found = out.values();
    for (size_t row = 0; row < 64; row++) {
        for (size_t column = 0; column < Columns; column++) {
            float sum = 0;
            for (size_t k = 0; k < 64; k++)
                sum += small_number(row * 64 + k) * small_number(k * 128 + column);
            CHECK(found[row * Columns + column] == sum);
        }
    }
}

/* What threads store, wgmma may read after a fence and a barrier. */
GPU_KERNEL(128, 1) proxy_kernel(float *out)
{
    const bf16 one{ 0x3f80 };
    auto *numbers = reinterpret_cast<bf16 *>(shared_memory());
    for (int i = thread_index(); i < 2 * 64 * 64; i += 128)
        shared_store(numbers + i, one);
    fence_proxy_async();
    block_barrier();
    const uint32_t left = shared_address(shared_memory());
    float d[32];
    warpgroup_fence();
    wgmma<bf16, b_rows::columns>(d, matrix_descriptor(left, 16),
                                 matrix_descriptor(left + a_bytes, 16), false);
    warpgroup_commit();
    warpgroup_wait<0>();
    hold_registers(d);
    store_product(d, out);
}

void products_see_stores_after_a_fence()
{
    device_array<float> out(64 * 64);
    CHECK_CUDA(launch(proxy_kernel, { 1, 128, 2 * a_bytes, nullptr }, out.get()));
    for (float sum : out.values())
        CHECK(sum == 16);
}

GPU_KERNEL(384, 1) registers_kernel(int *out)
{
    if (warp_index() < 4) {
        give_registers<24>();
    } else {
        take_registers<240>();
        global_store(out + thread_index() - 128, thread_index());
    }
}

void registers_move_to_who_needs_them()
{
    device_array<int> out(256);
    CHECK_CUDA(launch(registers_kernel, { 1, 384, 0, nullptr }, out.get()));
    std::vector<int> found = out.values();
    for (int i = 0; i < 256; i++)
        CHECK(found[static_cast<size_t>(i)] == i + 128);
}

} // namespace

int main()
{
    int major = 0;
    if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) != cudaSuccess ||
        major != 9)
        return 77;
    return check::run_all({
        { "mbarriers hand over", mbarriers_hand_over },
        { "boxes come swizzled, with zeros outside", boxes_come_swizzled_with_zeros_outside },
        { "wgmma multiplies 64 keys, bf16", keys_are_multiplied<bf16, 64> },
        { "wgmma multiplies 64 keys, fp16", keys_are_multiplied<fp16, 64> },
        { "wgmma multiplies 128 keys, bf16", keys_are_multiplied<bf16, 128> },
        { "wgmma multiplies 128 keys, fp16", keys_are_multiplied<fp16, 128> },
        { "wgmma multiplies values of 64, bf16", values_are_multiplied<bf16, 64> },
        { "wgmma multiplies values of 64, fp16", values_are_multiplied<fp16, 64> },
        { "wgmma multiplies values of 128, bf16", values_are_multiplied<bf16, 128> },
        { "wgmma multiplies values of 128, fp16", values_are_multiplied<fp16, 128> },
        { "products see stores after a fence", products_see_stores_after_a_fence },
        { "registers move to who needs them", registers_move_to_who_needs_them },
    });
}
