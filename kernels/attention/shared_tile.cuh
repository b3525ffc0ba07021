/*
 * A matrix of vectors in shared memory, one a row, in an order that ldmatrix reads without bank
 * conflicts: chunk c of row r, 16 bytes, lies where chunk c ^ (r % 8) would.
 */
#ifndef BALLAST_ATTENTION_SHARED_TILE_CUH
#define BALLAST_ATTENTION_SHARED_TILE_CUH

#include "kernels/common/async_copy.h"
#include "kernels/common/matrix.h"

namespace attention
{

/* The same value, but the compiler does not know: nothing that follows from it leaves a loop. */
GPU_DEVICE unsigned known_here_only(unsigned value)
{
#ifndef BALLAST_EMULATED
    asm volatile("" : "+r"(value));
#endif
    return value;
}

/* Rows of D two-byte numbers. */
template <int D> class shared_tile
{
  public:
    static constexpr int chunks = D / 8; /* of a row */
    static constexpr int row_bytes = D * 2;

    /* At so many bytes of the block's shared memory, a multiple of 256. */
    GPU_DEVICE explicit shared_tile(int offset) : offset_(static_cast<unsigned>(offset))
    {
    }

    GPU_DEVICE uint8_t *at(int row, int chunk) const
    {
        return gpu::shared_memory() + offset_of(row, chunk);
    }

    /*
     * Copies Rows rows in the background, by all Threads threads of the block. vector(row) is
     * where a row begins in global memory, nullptr for a row of zeros. The caller commits.
     */
    template <int Rows, int Threads, class Source> GPU_DEVICE void copy(const Source &vector) const
    {
        static_assert(Threads % chunks == 0 && Rows * chunks % Threads == 0, "whole rounds");
        const int chunk = gpu::thread_index() % chunks;
        GPU_NO_UNROLL
        for (int row = gpu::thread_index() / chunks; row < Rows; row += Threads / chunks) {
            const auto *from = vector(row);
            gpu::copy_async_16(at(row, chunk), from ? from + chunk * 8 : from, from != nullptr);
        }
    }

    /*
     * What a lane reads when a warp reads 16 rows from `row` on, a multiple of 8. Computed where it
     * is used, once a product: kept through the loop over keys, the addresses that follow from it
     * would take more registers than there are.
     */
    GPU_DEVICE unsigned lane_of_a(int row) const
    {
        const int lane = gpu::lane_index();
        return known_here_only(offset_of(row + lane % 16, lane / 16));
    }

    GPU_DEVICE unsigned lane_of_b_transposed(int row) const
    {
        const int lane = gpu::lane_index();
        return known_here_only(offset_of(row + lane % 8 + lane / 16 * 8, lane / 8 % 2));
    }

    /*
     * Loads `row` rows, a multiple of 8, and 16 `pair` columns further on. By lane_of_a: the A of
     * an mma. By lane_of_b_transposed: two B side by side, whose columns are these rows.
     */
    GPU_DEVICE static void load(uint32_t fragment[4], unsigned lane, int row, int pair)
    {
        gpu::ldmatrix_x4(fragment, place(lane, row, pair));
    }

    /* By lane_of_a: two B side by side, whose rows are these rows. */
    GPU_DEVICE static void load_b(uint32_t b[4], unsigned lane, int row, int pair)
    {
        gpu::ldmatrix_x4_trans(b, place(lane, row, pair));
    }

  private:
    GPU_DEVICE unsigned offset_of(int row, int chunk) const
    {
        return offset_ + static_cast<unsigned>(row * row_bytes + (chunk ^ (row & 7)) * 16);
    }

    /* Chunks change places by ^, and 8 rows on they change alike. */
    GPU_DEVICE static uint8_t *place(unsigned lane, int row, int pair)
    {
        return gpu::shared_memory() + (lane ^ static_cast<unsigned>(pair * 32)) + row * row_bytes;
    }

    unsigned offset_;
};

} // namespace attention

#endif
