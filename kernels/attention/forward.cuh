/*
 * Forward, for devices with mma.sync (compute capability 8.0 and newer).
 *
 * A block of four warps has one query tile in shared memory and takes its keys 64 at a time; a
 * warp has 32 packed rows, and of them the scores and the sums in registers. While scores are
 * computed from the keys, their values are on the way, and while these are added up, the next keys.
 */
#ifndef BALLAST_ATTENTION_FORWARD_CUH
#define BALLAST_ATTENTION_FORWARD_CUH

#include "kernels/attention/items.cuh"
#include "kernels/attention/mask.cuh"
#include "kernels/attention/softmax.cuh"
#include "kernels/attention/store.cuh"
#include "kernels/attention/vectors.cuh"

namespace attention
{

template <class T, int D> class forward
{
  public:
    static constexpr int threads = 128;
    static constexpr int shared_bytes =
        (QUERY_TILE_ROWS + 2 * QUERY_TILE_COLUMNS) * shared_tile<D>::row_bytes + 16;

    GPU_DEVICE explicit forward(const attention_arguments &arguments)
        : arguments_(arguments), q_(0), k_(QUERY_TILE_ROWS * shared_tile<D>::row_bytes),
          v_((QUERY_TILE_ROWS + QUERY_TILE_COLUMNS) * shared_tile<D>::row_bytes)
    {
    }

    GPU_DEVICE static int *item_slot()
    {
        return reinterpret_cast<int *>(gpu::shared_memory() + shared_bytes - 16);
    }

    GPU_DEVICE void compute(int item)
    {
        const query_tile tile = query_tile_of(arguments_, item);
        const int kv_head = item % arguments_.kv_heads;
        const packed_rows rows(arguments_, tile, kv_head);
        const row_mask<M> mask(arguments_, rows, first_row());
        const int keys = static_cast<int>(tile.visible);
        online_softmax<M> softmax;
        block<M, D / 8> out;
        out.clear();

        if (keys > 0) {
            copy_queries(rows);
            copy_keys(k_, arguments_.k, arguments_.k_stride, tile, kv_head, 0);
        }
        gpu::copy_async_commit();
        GPU_NO_UNROLL
        for (int first = 0; first < keys; first += columns)
            attend(tile, kv_head, first, mask, softmax, out);
        /* Asked for again, lest all of it stays in registers through the loop. */
        store(packed_rows(arguments_, query_tile_of(arguments_, item), kv_head), softmax, out);
    }

  private:
    static constexpr int M = 2; /* parts of 16 rows of a warp */
    static constexpr int columns = QUERY_TILE_COLUMNS;

    GPU_DEVICE static int first_row()
    {
        return gpu::warp_index() * M * 16;
    }

    GPU_DEVICE void copy_queries(const packed_rows &rows)
    {
        q_.template copy<QUERY_TILE_ROWS, threads>(
            queries<T, D>(rows, arguments_.q, arguments_.q_stride, 0));
    }

    /* Keys or values from the `first` of the tile's on. */
    GPU_DEVICE static void copy_keys(const shared_tile<D> &to, const void *tensor, int64_t stride,
                                     const query_tile &tile, int kv_head, int first)
    {
        to.template copy<columns, threads>(keys<T, D>(tensor, stride, tile.first_key + first,
                                                      static_cast<int>(tile.visible) - first,
                                                      kv_head));
    }

    GPU_DEVICE void attend(const query_tile &tile, int kv_head, int first, const row_mask<M> &mask,
                           online_softmax<M> &softmax, block<M, D / 8> &out)
    {
        const bool sees = first < mask.most; /* of the warp; all warps meet at the barriers */
        gpu::copy_async_wait<0>();
        gpu::block_barrier(); /* the keys are there, and the values before are done with */
        copy_keys(v_, arguments_.v, arguments_.v_stride, tile, kv_head, first);
        gpu::copy_async_commit();

        block<M, columns / 8> scores;
        scores.clear();
        if (sees) {
            add_product_transposed<T>(scores, q_, first_row(), k_);
            hide(scores, mask, first);
            softmax.take(scores, out, arguments_.scale_log2);
        }
        gpu::copy_async_wait<0>();
        gpu::block_barrier(); /* the values are there, and the keys are done with */
        if (first + columns < static_cast<int>(tile.visible))
            copy_keys(k_, arguments_.k, arguments_.k_stride, tile, kv_head, first + columns);
        gpu::copy_async_commit();
        if (sees)
            add_product<T>(out, scores, v_);
    }

    GPU_DEVICE static void hide(block<M, columns / 8> &scores, const row_mask<M> &mask, int first)
    {
        if (first + columns <= mask.least)
            return;
        GPU_UNROLL
        for (int m = 0; m < M; m++) {
            GPU_UNROLL
            for (int i = 0; i < columns / 8 * 4; i++) {
                if (mask.hidden(m, i % 4, first + block_column(i / 4, i % 4)))
                    scores.part[m][i / 4][i % 4] = -INFINITY;
            }
        }
    }

    GPU_DEVICE void store(const packed_rows &rows, const online_softmax<M> &softmax,
                          const block<M, D / 8> &out)
    {
        GPU_UNROLL
        for (int i = 0; i < 2 * M; i++) {
            const int m = i / 2, half = i % 2, packed = first_row() + block_row(m, 2 * half);
            float lse, factor;
            softmax.finish(m, half, arguments_.scale, lse, factor);
            if (packed >= rows.count)
                continue;
            store_row<T>(out.part[m], half, factor, arguments_.result,
                         rows.template vector<D>(packed, arguments_.result_stride),
                         arguments_.result_float);
            if (gpu::lane_index() % 4 == 0)
                gpu::global_store(&arguments_.lse[rows.value(packed, arguments_.padded_rows)], lse);
        }
    }

    const attention_arguments &arguments_;
    shared_tile<D> q_, k_, v_;
};

} // namespace attention

#endif
