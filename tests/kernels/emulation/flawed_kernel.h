/*
 * A kernel small enough to see whole and shaped like attention: out[row] is the sum of q_row .
 * k_key over the keys up to `row`. Keys come 16 at a time, the last ones first, into two buffers in
 * turn. Each flaw is a mistake that somebody makes one day; without one it is sound.
 */
#ifndef BALLAST_TESTS_KERNELS_EMULATION_FLAWED_KERNEL_H
#define BALLAST_TESTS_KERNELS_EMULATION_FLAWED_KERNEL_H

#include "kernels/common/async_copy.h"
#include "kernels/common/barrier.h"
#include "kernels/common/matrix.h"
#include "kernels/common/warp.h"

enum class flaw {
    none,
    no_barrier_after_wait,
    no_barrier_before_reuse,
    waits_for_too_few_groups,
    forgets_to_commit,
    forgets_to_wait_at_the_end,
    leaves_the_tail_unfilled,
    reads_beyond_the_keys,
    no_swizzle,
    no_mask,
    barrier_for_some_threads,
    barrier_for_one_warp,
    shuffle_in_a_branch,
    buffer_too_small,
    copy_not_aligned,
    no_warp_sync,
    writes_beyond_the_result,
    reads_memory_nobody_wrote,
    named_barrier_for_too_many,
};

struct flawed_shape {
    static constexpr int rows = 32, columns = 64, tile = 16, threads = 64;
    static constexpr int keys = 40, tiles = 3; /* of which the last is half full */
    static constexpr int row_bytes = columns * 2, tile_bytes = tile * row_bytes;
    static constexpr int q_offset = 2 * tile_bytes, sums_offset = q_offset + rows * row_bytes;
    static constexpr int shared_bytes = sums_offset + rows * 4;
};

template <flaw F> class flawed_kernel : flawed_shape
{
  public:
    GPU_DEVICE flawed_kernel(const gpu::bf16 *q, const gpu::bf16 *k, float *out)
        : q_(q), k_(k), out_(out)
    {
    }

    GPU_DEVICE void run()
    {
        copy(gpu::shared_memory() + q_offset, q_, rows, rows);
        copy_keys(tiles - 1);
        gpu::copy_async_commit();
        for (int tile_index = tiles - 1; tile_index >= 0; tile_index--) {
            if (tile_index > 0)
                copy_keys(tile_index - 1);
            if constexpr (F != flaw::forgets_to_commit)
                gpu::copy_async_commit();
            wait_for_copies(tile_index);
            add(tile_index);
            if constexpr (F != flaw::no_barrier_before_reuse)
                gpu::block_barrier();
        }
        store();
    }

  private:
    GPU_DEVICE static uint8_t *chunk(uint8_t *base, int row, int number)
    {
        int place = F == flaw::no_swizzle ? number : number ^ (row & 7);
        return base + row * row_bytes + place * 16;
    }

    GPU_DEVICE static uint8_t *buffer(int tile_index)
    {
        return gpu::shared_memory() + tile_index % 2 * tile_bytes;
    }

    /* Rows from `valid` on become zeros. */
    GPU_DEVICE void copy(uint8_t *to, const gpu::bf16 *from, int count, int valid)
    {
        constexpr int chunks = columns / 8;
        for (int i = gpu::thread_index(); i < count * chunks; i += threads) {
            int row = i / chunks, number = i % chunks;
            bool there = row < valid;
            if (F == flaw::leaves_the_tail_unfilled && !there)
                continue;
            int source = there || F == flaw::reads_beyond_the_keys ? row * columns : 0;
            int skew = F == flaw::copy_not_aligned ? 1 : 0;
            gpu::copy_async_16(chunk(to, row, number), from + source + number * 8 + skew,
                               there || F == flaw::reads_beyond_the_keys);
        }
    }

    GPU_DEVICE void copy_keys(int tile_index)
    {
        int first = tile_index * tile;
        int shift = F == flaw::buffer_too_small ? shared_bytes - tile_bytes + 16 : 0;
        copy(buffer(tile_index) + shift, k_ + first * columns, tile, keys - first);
    }

    GPU_DEVICE void wait_for_copies(int tile_index)
    {
        if constexpr (F == flaw::waits_for_too_few_groups)
            gpu::copy_async_wait<2>();
        else
            gpu::copy_async_wait<1>();
        if (F == flaw::forgets_to_wait_at_the_end && tile_index == 0)
            copy_keys(1);
        if constexpr (F == flaw::barrier_for_some_threads) {
            if (gpu::thread_index() < 48)
                gpu::block_barrier();
        } else if constexpr (F == flaw::barrier_for_one_warp) {
            if (gpu::warp_index() == 0)
                gpu::block_barrier();
        } else if constexpr (F == flaw::named_barrier_for_too_many) {
            gpu::named_barrier(1, threads + 32);
        } else if constexpr (F != flaw::no_barrier_after_wait) {
            gpu::block_barrier();
        }
    }

    /* Scores of the warp's 16 rows with the keys in the buffer, added up row by row. */
    GPU_DEVICE void add(int tile_index)
    {
        const int lane = gpu::lane_index();
        uint8_t *q = gpu::shared_memory() + q_offset;
        float c[2][4] = {};
        for (int part = 0; part < columns / 16; part++) {
            uint32_t a[4], b[4];
            gpu::ldmatrix_x4(a, chunk(q, gpu::warp_index() * 16 + lane % 16, part * 2 + lane / 16));
            gpu::ldmatrix_x4(
                b, chunk(buffer(tile_index), lane % 8 + lane / 16 * 8, part * 2 + lane / 8 % 2));
            gpu::mma_m16n16k16<gpu::bf16>(c[0], c[1], a, b);
        }
        for (int i = 0; i < 8; i++) {
            int key = tile_index * tile + i / 4 * 8 + lane % 4 * 2 + i % 2;
            int row = gpu::warp_index() * 16 + lane / 4 + i / 2 % 2 * 8;
            if (F == flaw::no_mask || key <= row)
                sum_[i / 2 % 2] += c[i / 4][i % 4];
        }
    }

    /* The four lanes of a row add up; then every lane writes one row, by way of shared memory. */
    GPU_DEVICE void store()
    {
        const int lane = gpu::lane_index();
        auto *sums = reinterpret_cast<float *>(gpu::shared_memory() + sums_offset);
        for (int half = 0; half < 2; half++) {
            float sum = sum_[half];
            if (F != flaw::shuffle_in_a_branch || lane < 16)
                sum += gpu::shuffle_xor(sum, 1);
            sum += gpu::shuffle_xor(sum, 2);
            if (lane % 4 == 0)
                gpu::shared_store(sums + gpu::warp_index() * 16 + lane / 4 + half * 8, sum);
        }
        if constexpr (F != flaw::no_warp_sync)
            gpu::warp_sync();
        if (lane < 16) {
            int row = gpu::warp_index() * 16 + lane;
            int beyond = F == flaw::writes_beyond_the_result ? 1 : 0;
            float sum = gpu::shared_load(sums + row);
            if constexpr (F == flaw::reads_memory_nobody_wrote)
                sum += gpu::global_load(out_ + row);
            gpu::global_store(out_ + row + beyond, sum);
        }
    }

    const gpu::bf16 *q_, *k_;
    float *out_;
    float sum_[2] = {};
};

template <flaw F>
GPU_KERNEL(flawed_shape::threads, 1)
run_flawed(const gpu::bf16 *q, const gpu::bf16 *k, float *out)
{
    flawed_kernel<F>(q, k, out).run();
}

#endif
