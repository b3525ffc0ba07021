/*
 * Gradient of queries, for devices with mma.sync.
 *
 * As forward, but eight warps with 16 packed rows each, since three blocks of a row's numbers are
 * in registers at once. Queries and the gradients of their outputs stay in shared memory; keys and
 * values come 64 at a time, into one of two stages while the other is computed with.
 */
#ifndef BALLAST_ATTENTION_BACKWARD_QUERIES_CUH
#define BALLAST_ATTENTION_BACKWARD_QUERIES_CUH

#include "kernels/attention/gradient.cuh"
#include "kernels/attention/items.cuh"
#include "kernels/attention/mask.cuh"
#include "kernels/attention/store.cuh"
#include "kernels/attention/vectors.cuh"

namespace attention
{

template <class T, int D> class backward_queries
{
  public:
    static constexpr int threads = 256;
    static constexpr int shared_bytes =
        (2 * QUERY_TILE_ROWS + 4 * QUERY_TILE_COLUMNS) * shared_tile<D>::row_bytes +
        item_source::shared_bytes;

    GPU_DEVICE explicit backward_queries(const attention_arguments &arguments)
        : arguments_(arguments), q_(0), out_gradient_(rows_bytes)
    {
    }

    GPU_DEVICE static int *items()
    {
        return reinterpret_cast<int *>(gpu::shared_memory() + shared_bytes -
                                       item_source::shared_bytes);
    }

    GPU_DEVICE void compute(int item)
    {
        const query_tile tile = query_tile_of(arguments_, item);
        const int kv_head = item % arguments_.kv_heads;
        const int keys = static_cast<int>(tile.visible);
        const packed_rows rows(arguments_, tile, kv_head);
        const row_mask<1> mask(arguments_, rows, first_row());
        row_facts facts[2];
        read_facts(rows, facts);
        block<1, D / 8> gradient;
        gradient.clear();

        if (keys > 0) {
            copy_queries(rows);
            copy_keys(tile, kv_head, 0);
        }
        gpu::copy_async_commit();
        GPU_NO_UNROLL
        for (int first = 0; first < keys; first += columns) {
            if (first + columns < keys)
                copy_keys(tile, kv_head, first + columns);
            gpu::copy_async_commit();
            gpu::copy_async_wait<1>();
            gpu::block_barrier(); /* this stage is there */
            if (first < mask.most)
                add_gradient(first, facts, gradient);
            gpu::block_barrier(); /* and done with */
        }
        store(packed_rows(arguments_, query_tile_of(arguments_, item), kv_head), gradient);
    }

  private:
    static constexpr int columns = QUERY_TILE_COLUMNS;
    static constexpr int rows_bytes = QUERY_TILE_ROWS * shared_tile<D>::row_bytes;
    static constexpr int columns_bytes = columns * shared_tile<D>::row_bytes;

    GPU_DEVICE static int first_row()
    {
        return gpu::warp_index() * 16;
    }

    /* Keys and values of the stage that has keys `first` and on. */
    GPU_DEVICE static shared_tile<D> keys_of(int first)
    {
        return shared_tile<D>(2 * rows_bytes + first / columns % 2 * 2 * columns_bytes);
    }

    GPU_DEVICE static shared_tile<D> values_of(int first)
    {
        return shared_tile<D>(2 * rows_bytes + (first / columns % 2 * 2 + 1) * columns_bytes);
    }

    GPU_DEVICE void copy_queries(const packed_rows &rows)
    {
        q_.template copy<QUERY_TILE_ROWS, threads>(
            queries<T, D>(rows, arguments_.q, arguments_.q_stride, 0));
        out_gradient_.template copy<QUERY_TILE_ROWS, threads>(
            queries<T, D>(rows, arguments_.out_gradient, arguments_.out_gradient_stride, 0));
    }

    GPU_DEVICE void copy_keys(const query_tile &tile, int kv_head, int first)
    {
        const int64_t key = static_cast<int64_t>(tile.first_key) + first;
        const int count = static_cast<int>(tile.visible) - first;
        keys_of(first).template copy<columns, threads>(
            keys<T, D>(arguments_.k, arguments_.k_stride, key, count, kv_head));
        values_of(first).template copy<columns, threads>(
            keys<T, D>(arguments_.v, arguments_.v_stride, key, count, kv_head));
    }

    GPU_DEVICE void read_facts(const packed_rows &rows, row_facts (&facts)[2]) const
    {
        for (int half = 0; half < 2; half++) {
            const int packed = first_row() + block_row(0, 2 * half);
            facts[half] = row_facts{ 0, 0.0F, 0.0F, 0.0F };
            if (packed < rows.count && rows.first < arguments_.rows)
                facts[half] =
                    gpu::global_load(&arguments_.facts[rows.facts(packed, arguments_.heads)]);
        }
    }

    GPU_DEVICE void add_gradient(int first, const row_facts (&facts)[2], block<1, D / 8> &gradient)
    {
        block<1, columns / 8> scores, rewards;
        scores.clear();
        rewards.clear();
        add_product_transposed<T>(scores, q_, first_row(), keys_of(first));
        add_product_transposed<T>(rewards, out_gradient_, first_row(), values_of(first));
        GPU_UNROLL
        for (int i = 0; i < columns / 8 * 4; i++) {
            float &score = scores.part[0][i / 4][i % 4];
            const row_facts &row = facts[i % 4 / 2];
            score =
                probability(score, arguments_.scale_log2, row, first + block_column(i / 4, i % 4));
            score = score_gradient(score, rewards.part[0][i / 4][i % 4], row.delta);
        }
        add_product<T>(gradient, scores, keys_of(first));
    }

    GPU_DEVICE void store(const packed_rows &rows, const block<1, D / 8> &gradient)
    {
        GPU_UNROLL
        for (int half = 0; half < 2; half++) {
            const int packed = first_row() + block_row(0, 2 * half);
            if (packed < rows.count)
                store_row<T>(gradient.part[0], half, arguments_.scale, arguments_.result,
                             rows.template vector<D>(packed, arguments_.result_stride),
                             arguments_.result_float);
        }
    }

    const attention_arguments &arguments_;
    shared_tile<D> q_, out_gradient_;
};

} // namespace attention

#endif
