/*
 * The sibling of flawed_kernel.h for devices of 9.0: out[row] is the sum of q_row . k_key over the
 * keys up to `row`. One warp brings keys 64 at a time into two buffers in turn; a warpgroup
 * multiplies. Queries are stored by the warpgroup itself.
 */
#ifndef BALLAST_TESTS_KERNELS_EMULATION_FLAWED_KERNEL_SM90_H
#define BALLAST_TESTS_KERNELS_EMULATION_FLAWED_KERNEL_SM90_H

#include "kernels/common/barrier.h"
#include "kernels/common/tensor_copy.h"
#include "kernels/common/warp.h"
#include "kernels/common/warpgroup.h"

enum class flaw_sm90 {
    none,
    no_wait_for_keys,
    waits_for_the_wrong_phase,
    releases_before_the_product_ends,
    never_releases,
    releases_twice,
    no_wait_for_products,
    no_fence_before_products,
    forgets_to_commit,
    expects_too_many_bytes,
    expects_too_few_bytes,
    no_fence_of_mbarriers,
    no_barrier_after_mbarriers,
    no_fence_of_stores,
    no_barrier_after_stores,
    one_warp_stays_away,
    steps_too_far,
    box_does_not_fit,
    takes_too_many_registers,
};

struct flawed_shape_sm90 {
    static constexpr int rows = 64, columns = 64, tile = 64, tiles = 3, keys = 160;
    static constexpr int threads = 384; /* the third warpgroup has nothing to do */
    static constexpr int row_bytes = 128, tile_bytes = tile * row_bytes;
    static constexpr int k_offset = rows * row_bytes, barrier_offset = k_offset + 2 * tile_bytes;
    static constexpr int shared_bytes = barrier_offset + 32;
};

template <flaw_sm90 F> class flawed_kernel_sm90 : flawed_shape_sm90
{
  public:
    GPU_DEVICE flawed_kernel_sm90(const gpu::bf16 *q, const gpu::tensor_map &k, float *out)
        : q_(q), k_(k), out_(out),
          full_(reinterpret_cast<gpu::mbarrier *>(gpu::shared_memory() + barrier_offset)),
          empty_(full_ + 2)
    {
    }

    GPU_DEVICE void run()
    {
        make_mbarriers();
        if (gpu::warp_index() < 4) {
            gpu::take_registers<F == flaw_sm90::takes_too_many_registers ? 256 : 240>();
            store_queries();
            multiply();
        } else if (gpu::warp_index() < 8) {
            gpu::give_registers<F == flaw_sm90::takes_too_many_registers ? 256 : 40>();
            if (gpu::thread_index() == 128)
                bring_keys();
        }
    }

  private:
    GPU_DEVICE void make_mbarriers()
    {
        if (gpu::thread_index() == 0) {
            for (int i = 0; i < 2; i++) {
                gpu::mbarrier_init(full_ + i, 1);
                gpu::mbarrier_init(empty_ + i, 4);
            }
            if constexpr (F != flaw_sm90::no_fence_of_mbarriers)
                gpu::fence_mbarrier_init();
        }
        if constexpr (F == flaw_sm90::no_barrier_after_mbarriers)
            return;
        gpu::block_barrier();
    }

    GPU_DEVICE void bring_keys()
    {
        for (int i = 0; i < tiles; i++) {
            gpu::mbarrier *full = full_ + i % 2;
            gpu::mbarrier_wait(empty_ + i % 2, i / 2 % 2 ^ 1);
            int bytes = tile_bytes;
            if constexpr (F == flaw_sm90::expects_too_many_bytes)
                bytes += 16;
            if constexpr (F == flaw_sm90::expects_too_few_bytes)
                bytes -= 16;
            gpu::mbarrier_arrive_expect(full, bytes);
            int skew = F == flaw_sm90::box_does_not_fit ? 2 * tile_bytes : 0;
            gpu::copy_box(keys_at(i) + skew, &k_, full, 0, 0, i * tile);
        }
    }

    GPU_DEVICE static uint8_t *keys_at(int tile_index)
    {
        return gpu::shared_memory() + k_offset + tile_index % 2 * tile_bytes;
    }

    GPU_DEVICE void store_queries()
    {
        for (int i = gpu::thread_index(); i < rows * columns / 2; i += 128) {
            int row = i / 32, chunk = i % 32 / 4;
            auto *to = reinterpret_cast<uint32_t *>(gpu::shared_memory() + row * row_bytes +
                                                    (chunk ^ (row & 7)) * 16);
            gpu::shared_store(to + i % 4,
                              gpu::global_load(reinterpret_cast<const uint32_t *>(q_) + i));
        }
        if constexpr (F != flaw_sm90::no_fence_of_stores)
            gpu::fence_proxy_async();
        if constexpr (F != flaw_sm90::no_barrier_after_stores)
            gpu::named_barrier(1, 128);
    }

    GPU_DEVICE void multiply()
    {
        for (int i = 0; i < tiles; i++) {
            if constexpr (F != flaw_sm90::no_wait_for_keys) {
                int parity = i / 2 % 2;
                gpu::mbarrier_wait(full_ + i % 2,
                                   F == flaw_sm90::waits_for_the_wrong_phase ? parity ^ 1 : parity);
            }
            multiply_tile(i);
        }
        for (int half = 0; half < 2; half++) {
            float sum = sum_[half];
            sum += gpu::shuffle_xor(sum, 1);
            sum += gpu::shuffle_xor(sum, 2);
            int row = gpu::warp_index() * 16 + gpu::lane_index() / 4 + half * 8;
            if (gpu::lane_index() % 4 == 0)
                gpu::global_store(out_ + row, sum);
        }
    }

    GPU_DEVICE void multiply_tile(int tile_index)
    {
        float d[32];
        start(d, gpu::shared_address(gpu::shared_memory()),
              gpu::shared_address(keys_at(tile_index)));
        if constexpr (F == flaw_sm90::releases_before_the_product_ends)
            release(tile_index);
        if constexpr (F != flaw_sm90::no_wait_for_products)
            gpu::warpgroup_wait<0>();
        gpu::hold_registers(d);
        if constexpr (F != flaw_sm90::releases_before_the_product_ends)
            release(tile_index);
        for (int i = 0; i < 32; i++) {
            int key = tile_index * tile + i / 4 * 8 + gpu::lane_index() % 4 * 2 + i % 2;
            int row = gpu::warp_index() * 16 + gpu::lane_index() / 4 + i / 2 % 2 * 8;
            if (key <= row)
                sum_[i / 2 % 2] += d[i];
        }
    }

    GPU_DEVICE static void start(float (&d)[32], uint32_t left, uint32_t right)
    {
        if constexpr (F != flaw_sm90::no_fence_before_products)
            gpu::warpgroup_fence();
        constexpr uint32_t step = F == flaw_sm90::steps_too_far ? 64 : 32;
        for (uint32_t k = 0; k < 4; k++) {
            if (F == flaw_sm90::one_warp_stays_away && gpu::warp_index() == 2 && k == 3)
                continue;
            gpu::wgmma<gpu::bf16, gpu::b_rows::columns>(
                d, gpu::matrix_descriptor(left + k % 4 * step, 16),
                gpu::matrix_descriptor(right + k * 32, 16), k != 0);
        }
        if constexpr (F != flaw_sm90::forgets_to_commit)
            gpu::warpgroup_commit();
    }

    GPU_DEVICE void release(int tile_index)
    {
        if (F == flaw_sm90::never_releases || gpu::lane_index() != 0)
            return;
        gpu::mbarrier_arrive(empty_ + tile_index % 2);
        if constexpr (F == flaw_sm90::releases_twice)
            gpu::mbarrier_arrive(empty_ + tile_index % 2);
    }

    const gpu::bf16 *q_;
    const gpu::tensor_map &k_;
    float *out_;
    gpu::mbarrier *full_, *empty_;
    float sum_[2] = {};
};

template <flaw_sm90 F>
GPU_KERNEL(flawed_shape_sm90::threads, 1)
run_flawed_sm90(const gpu::bf16 *q, const GPU_PARAMETER gpu::tensor_map k, float *out)
{
    flawed_kernel_sm90<F>(q, k, out).run();
}

#endif
