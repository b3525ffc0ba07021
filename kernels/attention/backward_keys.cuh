/*
 * Gradients of keys and values, for devices with mma.sync.
 *
 * A block has one key tile in shared memory and takes the packed query rows that see any of it 64
 * at a time, into one of two stages. Blocks of scores are transposed, a row a key: so each of the
 * eight warps adds up the gradients of its 16 keys alone, in a fixed order.
 */
#ifndef BALLAST_ATTENTION_BACKWARD_KEYS_CUH
#define BALLAST_ATTENTION_BACKWARD_KEYS_CUH

#include "kernels/attention/gradient.cuh"
#include "kernels/attention/items.cuh"
#include "kernels/attention/store.cuh"
#include "kernels/attention/vectors.cuh"

namespace attention
{

template <class T, int D> class backward_keys
{
  public:
    static constexpr int threads = 256;

  private:
    static constexpr int columns = KEY_TILE_ROWS;
    static constexpr int step = 32; /* of them at a time */
    static constexpr int keys_bytes = KEY_TILE_KEYS * shared_tile<D>::row_bytes;
    static constexpr int columns_bytes = columns * shared_tile<D>::row_bytes;
    static constexpr int facts_offset = 2 * keys_bytes + 4 * columns_bytes;

  public:
    static constexpr int shared_bytes = facts_offset +
                                        2 * columns * static_cast<int>(sizeof(row_facts)) +
                                        item_source::shared_bytes;

    GPU_DEVICE explicit backward_keys(const attention_arguments &arguments)
        : arguments_(arguments), k_(0), v_(keys_bytes)
    {
    }

    GPU_DEVICE static int *items()
    {
        return reinterpret_cast<int *>(gpu::shared_memory() + shared_bytes -
                                       item_source::shared_bytes);
    }

    /* The tile is asked for again and again, lest all of it stays in registers through the loop. */
    GPU_DEVICE void compute(int item)
    {
        block<1, D / 8> k_gradient, v_gradient;
        k_gradient.clear();
        v_gradient.clear();
        if (rows_of(item).count > 0) {
            copy_tile(item);
            copy_rows(rows_of(item), 0);
        }
        gpu::copy_async_commit();
        GPU_NO_UNROLL
        for (int first = 0; first < rows_of(item).count; first += columns) {
            if (first + columns < rows_of(item).count)
                copy_rows(rows_of(item), first + columns);
            gpu::copy_async_commit();
            gpu::copy_async_wait<1>();
            gpu::block_barrier(); /* this stage is there */
            GPU_NO_UNROLL
            for (int row = 0; row < columns; row += step) {
                if (meets(item, first + row))
                    add_gradients(first, row, first_position(item), k_gradient, v_gradient);
            }
            gpu::block_barrier(); /* and done with */
        }
        store(item, k_gradient, arguments_.scale, arguments_.k_gradient,
              arguments_.k_gradient_stride);
        store(item, v_gradient, 1.0F, arguments_.v_gradient, arguments_.v_gradient_stride);
    }

  private:
    GPU_DEVICE key_tile tile_of(int item) const
    {
        const key_tile *tile = &arguments_.key_tiles[item / arguments_.kv_heads];
        return { gpu::global_load(&tile->first_key), gpu::global_load(&tile->keys),
                 gpu::global_load(&tile->offset), gpu::global_load(&tile->first_row),
                 gpu::global_load(&tile->rows) };
    }

    GPU_DEVICE packed_rows rows_of(int item) const
    {
        return packed_rows(arguments_, tile_of(item), item % arguments_.kv_heads);
    }

    /* Of the warp, in the tile. */
    GPU_DEVICE static int first_key()
    {
        return gpu::warp_index() * 16;
    }

    GPU_DEVICE int first_position(int item) const
    {
        return static_cast<int>(tile_of(item).offset) + first_key();
    }

    /* Whether any of `step` packed rows sees a key of the warp: the last of them sees most. */
    GPU_DEVICE bool meets(int item, int first) const
    {
        const int left = rows_of(item).count - first;
        if (first_key() >= static_cast<int>(tile_of(item).keys) || left <= 0)
            return false;
        const row_facts *last = facts_of(first) + first % columns + (left < step ? left : step) - 1;
        return first_position(item) < static_cast<int>(gpu::shared_load(&last->visible));
    }

    GPU_DEVICE static shared_tile<D> queries_of(int first)
    {
        return shared_tile<D>(2 * keys_bytes + first / columns % 2 * 2 * columns_bytes);
    }

    GPU_DEVICE static shared_tile<D> out_gradients_of(int first)
    {
        return shared_tile<D>(2 * keys_bytes + (first / columns % 2 * 2 + 1) * columns_bytes);
    }

    /* Of the stage's packed rows. */
    GPU_DEVICE static row_facts *facts_of(int first)
    {
        return reinterpret_cast<row_facts *>(gpu::shared_memory() + facts_offset) +
               first / columns % 2 * columns;
    }

    GPU_DEVICE void copy_tile(int item)
    {
        const key_tile tile = tile_of(item);
        const int kv_head = item % arguments_.kv_heads;
        const int count = static_cast<int>(tile.keys);
        k_.template copy<KEY_TILE_KEYS, threads>(
            keys<T, D>(arguments_.k, arguments_.k_stride, tile.first_key, count, kv_head));
        v_.template copy<KEY_TILE_KEYS, threads>(
            keys<T, D>(arguments_.v, arguments_.v_stride, tile.first_key, count, kv_head));
    }

    GPU_DEVICE void copy_rows(const packed_rows &rows, int first)
    {
        queries_of(first).template copy<columns, threads>(
            queries<T, D>(rows, arguments_.q, arguments_.q_stride, first));
        out_gradients_of(first).template copy<columns, threads>(
            queries<T, D>(rows, arguments_.out_gradient, arguments_.out_gradient_stride, first));
        const int packed = first + gpu::thread_index();
        const bool valid = packed < rows.count;
        if (gpu::thread_index() < columns)
            gpu::copy_async_16(
                facts_of(first) + gpu::thread_index(),
                arguments_.facts + (valid ? rows.facts(packed, arguments_.heads) : 0), valid);
    }

    /*
     * Of the stage's rows from `row` on, as many as there are registers for. `key` is the position
     * of the warp's first key among those of the piece.
     */
    GPU_DEVICE void add_gradients(int first, int row, int key, block<1, D / 8> &k_gradient,
                                  block<1, D / 8> &v_gradient)
    {
        const shared_tile<D> q = queries_of(first), out_gradients = out_gradients_of(first);
        const row_facts *facts = facts_of(first) + row;
        block<1, step / 8> scores, rewards;
        scores.clear();
        rewards.clear();
        add_product_transposed<T>(scores, k_, first_key(), q, row);
        find_probabilities(scores, facts, key);
        add_product<T>(v_gradient, scores, out_gradients, row);
        add_product_transposed<T>(rewards, v_, first_key(), out_gradients, row);
        GPU_UNROLL
        for (int i = 0; i < step / 8 * 4; i++) {
            float &score = scores.part[0][i / 4][i % 4];
            score = score_gradient(score, rewards.part[0][i / 4][i % 4],
                                   gpu::shared_load(&facts[block_column(i / 4, i % 4)].delta));
        }
        add_product<T>(k_gradient, scores, q, row);
    }

    GPU_DEVICE void find_probabilities(block<1, step / 8> &scores, const row_facts *facts,
                                       int key) const
    {
        GPU_UNROLL
        for (int i = 0; i < step / 8 * 2; i++) {
            const row_facts row = gpu::shared_load(&facts[block_column(i / 2, i % 2)]);
            GPU_UNROLL
            for (int half = 0; half < 2; half++) {
                float &score = scores.part[0][i / 2][2 * half + i % 2];
                score =
                    probability(score, arguments_.scale_log2, row, key + block_row(0, 2 * half));
            }
        }
    }

    GPU_DEVICE void store(int item, const block<1, D / 8> &gradient, float factor, void *tensor,
                          int64_t stride)
    {
        const key_tile tile = tile_of(item);
        const int kv_head = item % arguments_.kv_heads;
        GPU_UNROLL
        for (int half = 0; half < 2; half++) {
            const int key = first_key() + block_row(0, 2 * half);
            if (key < static_cast<int>(tile.keys))
                store_row<T>(gradient.part[0], half, factor, tensor,
                             (static_cast<int64_t>(tile.first_key) + key) * stride + kv_head * D,
                             arguments_.kv_gradient_float);
        }
    }

    const attention_arguments &arguments_;
    shared_tile<D> k_, v_;
};

} // namespace attention

#endif
