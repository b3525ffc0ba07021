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
        (QUERY_TILE_ROWS + 2 * QUERY_TILE_COLUMNS) * shared_tile<D>::row_bytes +
        item_source::shared_bytes;

    GPU_DEVICE explicit forward(const attention_arguments &arguments)
        : arguments_(arguments), q_(0), k_(QUERY_TILE_ROWS * shared_tile<D>::row_bytes),
          v_((QUERY_TILE_ROWS + QUERY_TILE_COLUMNS) * shared_tile<D>::row_bytes)
    {
    }

    GPU_DEVICE static int *items()
    {
        return reinterpret_cast<int *>(gpu::shared_memory() + shared_bytes -
                                       item_source::shared_bytes);
    }

    /*
     * Computes the current item. Item and tile are read anew wherever they are needed: there are no
     * registers to keep them in through the loop.
     */
    GPU_DEVICE void compute()
    {
        const row_mask<M> mask(arguments_, rows(), first_row());
        online_softmax<M> softmax;
        block<M, D / 8> out;
        out.clear();
        if (seen() > 0) {
            copy_queries(rows());
            copy_keys(k_, arguments_.k, arguments_.k_stride, 0);
        }
        gpu::copy_async_commit();
        GPU_NO_UNROLL
        for (int first = 0; first < seen(); first += columns)
            attend(first, mask, softmax, out);
        store(rows(), softmax, out);
    }

  private:
    static constexpr int M = 2; /* parts of 16 rows of a warp */
    static constexpr int columns = QUERY_TILE_COLUMNS;

    GPU_DEVICE static int first_row()
    {
        return gpu::warp_index() * M * 16;
    }

    GPU_DEVICE static int item()
    {
        return item_source::current(items());
    }

    GPU_DEVICE packed_rows rows() const
    {
        return packed_rows(arguments_, query_tile_of(arguments_, item()),
                           item() % arguments_.kv_heads);
    }

    /* Keys that the tile sees. */
    GPU_DEVICE int seen() const
    {
        return static_cast<int>(query_tile_of(arguments_, item()).visible);
    }

    GPU_DEVICE void copy_queries(const packed_rows &rows)
    {
        q_.template copy<QUERY_TILE_ROWS, threads>(
            queries<T, D>(rows, arguments_.q, arguments_.q_stride, 0));
    }

    /* Keys or values from the `first` of the tile's on. */
    GPU_DEVICE void copy_keys(const shared_tile<D> &to, const void *tensor, int64_t stride,
                              int first) const
    {
        const query_tile tile = query_tile_of(arguments_, item());
        to.template copy<columns, threads>(
            keys<T, D>(tensor, stride, static_cast<int64_t>(tile.first_key) + first,
                       static_cast<int>(tile.visible) - first, item() % arguments_.kv_heads));
    }

    GPU_DEVICE void attend(int first, const row_mask<M> &mask, online_softmax<M> &softmax,
                           block<M, D / 8> &out)
    {
        const bool sees = first < mask.most; /* of the warp; all warps meet at the barriers */
        gpu::copy_async_wait<0>();
        gpu::block_barrier(); /* the keys are there, and the values before are done with */
        copy_keys(v_, arguments_.v, arguments_.v_stride, first);
        gpu::copy_async_commit();

        block<M, columns / 8> scores;
        scores.clear();
        if (sees) {
            add_product_transposed<T>(scores, q_, first_row(), k_);
            hide(scores, mask, first);
            float shrink[M][2];
            softmax.take(scores, arguments_.scale_log2, shrink);
            shrink_rows(out, shrink);
        }
        gpu::copy_async_wait<0>();
        gpu::block_barrier(); /* the values are there, and the keys are done with */
        if (first + columns < seen())
            copy_keys(k_, arguments_.k, arguments_.k_stride, first + columns);
        gpu::copy_async_commit();
        if (sees)
            add_product<T>(out, scores, v_);
    }

    GPU_DEVICE static void hide(block<M, columns / 8> &scores, const row_mask<M> &mask, int first)
    {
        if (mask.all_see(first + columns))
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
