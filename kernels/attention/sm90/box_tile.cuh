/*
 * Rows of D numbers in shared memory as tensor copies leave them and wgmma reads them: boxes of 64
 * columns, one after another.
 */
#ifndef BALLAST_ATTENTION_SM90_BOX_TILE_CUH
#define BALLAST_ATTENTION_SM90_BOX_TILE_CUH

#include "kernels/common/tensor_copy.h"
#include "kernels/common/warpgroup.h"

namespace attention::sm90
{

template <int Rows, int D> class box_tile
{
  public:
    static constexpr int row_bytes = gpu::tensor_box_width * 2;
    static constexpr int box_bytes = Rows * row_bytes;
    static constexpr int boxes = D / gpu::tensor_box_width;
    static constexpr int bytes = boxes * box_bytes;

    /* At so many bytes of the block's shared memory, a multiple of 1024. */
    GPU_DEVICE explicit box_tile(int offset) : offset_(offset)
    {
    }

    /* Copies D columns of the rows that begin at head y of row z; `b` expects their bytes. */
    GPU_DEVICE void copy(const gpu::tensor_map *map, gpu::mbarrier *b, int y, int z) const
    {
        GPU_UNROLL
        for (int box = 0; box < boxes; box++)
            gpu::copy_box(gpu::shared_memory() + offset_ + box * box_bytes, map, b,
                          box * gpu::tensor_box_width, y, z);
    }

    /*
     * Zeros in the rows from `row` on, which no box reaches where a group of heads does not divide
     * the tile. By Threads threads of the block, once; a barrier follows.
     */
    template <int Threads> GPU_DEVICE void clear_from(int row) const
    {
        const int words = (Rows - row) * row_bytes / 4;
        for (int box = 0; box < boxes; box++) {
            auto *rest = reinterpret_cast<uint32_t *>(gpu::shared_memory() + offset_ +
                                                      box * box_bytes + row * row_bytes);
            for (int i = gpu::thread_index(); i < words; i += Threads)
                gpu::shared_store(rest + i, uint32_t{ 0 });
        }
        gpu::fence_proxy_async();
    }

    /* Rows from `row` on, a multiple of 8, columns 16 k and up. */
    GPU_DEVICE uint64_t rows_by_columns(int row, int k) const
    {
        constexpr int step_bytes = 16 * 2, steps = gpu::tensor_box_width / 16;
        return descriptor(k / steps * box_bytes + row * row_bytes + k % steps * step_bytes);
    }

    /* Rows 16 k and up, all columns. */
    GPU_DEVICE uint64_t rows_by_k(int k) const
    {
        return descriptor(k * 16 * row_bytes);
    }

  private:
    GPU_DEVICE uint64_t descriptor(int offset) const
    {
        return gpu::matrix_descriptor(gpu::shared_address(gpu::shared_memory()) +
                                          static_cast<uint32_t>(offset_ + offset),
                                      box_bytes);
    }

    int offset_;
};

} // namespace attention::sm90

#endif
