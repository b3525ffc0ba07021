/*
 * Gradients of keys and values, for devices with wgmma and tensor copies.
 *
 * A block of three warpgroups. One warp of the first takes items and brings a tile of 128 keys and
 * values, and the packed query rows that see any of it 64 at a time, with the gradients of their
 * outputs and their facts; the other two have 64 keys each. Blocks of scores are transposed, a row
 * a key: gradients are added up by one warpgroup alone, in a fixed order, and what is multiplied
 * from the left stays in registers.
 */
#ifndef BALLAST_ATTENTION_SM90_BACKWARD_KEYS_CUH
#define BALLAST_ATTENTION_SM90_BACKWARD_KEYS_CUH

#include "kernels/attention/gradient.cuh"
#include "kernels/attention/sm90/multiply.cuh"
#include "kernels/attention/sm90/ring.cuh"
#include "kernels/attention/sm90/tensors.cuh"
#include "kernels/attention/store.cuh"
#include "kernels/common/barrier.h"

namespace attention::sm90
{

template <int D> struct backward_keys_shape {
    static constexpr int threads = 3 * gpu::warpgroup_threads, consumer_warps = 8;
    static constexpr int stages = 2;
    using keys_tile = box_tile<KEY_TILE_KEYS, D>;
    using rows_tile = box_tile<KEY_TILE_ROWS, D>;

    static constexpr int v_offset = keys_tile::bytes;
    static constexpr int rows_offset = 2 * keys_tile::bytes;
    static constexpr int facts_offset = rows_offset + 2 * stages * rows_tile::bytes;
    static constexpr int facts_bytes = KEY_TILE_ROWS * static_cast<int>(sizeof(row_facts));
    static constexpr int keys_ring_offset = facts_offset + stages * facts_bytes;
    static constexpr int rows_ring_offset = keys_ring_offset + item_ring::bytes;
    static constexpr int shared_bytes = rows_ring_offset + ring<stages>::bytes;
};

template <int D> struct backward_keys_rings {
    using shape = backward_keys_shape<D>;
    item_ring keys{ shape::keys_ring_offset };           /* and values */
    ring<shape::stages> rows{ shape::rows_ring_offset }; /* queries, gradients of outputs, facts */

    /* Of the block, before anything else; a barrier follows. */
    GPU_DEVICE void init() const
    {
        if (gpu::thread_index() == 0) {
            keys.init(shape::consumer_warps);
            rows.init(shape::consumer_warps);
            gpu::fence_mbarrier_init();
        }
    }

    GPU_DEVICE typename shape::rows_tile query_tile() const
    {
        return tile(2 * rows.stage());
    }

    GPU_DEVICE typename shape::rows_tile out_gradient_tile() const
    {
        return tile(2 * rows.stage() + 1);
    }

    GPU_DEVICE row_facts *facts() const
    {
        return reinterpret_cast<row_facts *>(gpu::shared_memory() + shape::facts_offset +
                                             rows.stage() * shape::facts_bytes);
    }

    /* Of packed rows that no box reaches, for ever. */
    GPU_DEVICE static void clear_from(int row)
    {
        for (int number = 0; number < 2 * shape::stages; number++)
            tile(number).template clear_from<shape::threads>(row);
    }

  private:
    GPU_DEVICE static typename shape::rows_tile tile(int number)
    {
        return typename shape::rows_tile(shape::rows_offset + number * shape::rows_tile::bytes);
    }
};

GPU_DEVICE key_tile key_tile_of(const attention_arguments &arguments, int item)
{
    return gpu::global_load(&arguments.key_tiles[item / arguments.kv_heads]);
}

/* Packed rows that come together: whole tokens. */
GPU_DEVICE int rows_a_stage(int group)
{
    return KEY_TILE_ROWS / group * group;
}

/* The warp that keeps things coming; its first lane starts copies, all of them bring facts. */
template <int D> class backward_keys_producer
{
  public:
    using shape = backward_keys_shape<D>;

    GPU_DEVICE backward_keys_producer(const attention_arguments &arguments,
                                      const backward_maps &maps, backward_keys_rings<D> &rings)
        : arguments_(arguments), maps_(maps), rings_(rings)
    {
    }

    /* All items that this block gets; the one past the end tells the consumers to stop. */
    GPU_DEVICE void run()
    {
        int item = gpu::block_index();
        while (item < arguments_.items) {
            int upcoming = 0;
            if (gpu::lane_index() == 0)
                upcoming = gpu::block_count() + gpu::take_next(arguments_.counter);
            bring(item);
            item = gpu::shuffle(upcoming, 0);
        }
        rings_.keys.wait_for_room();
        if (gpu::lane_index() == 0) {
            rings_.keys.put(item);
            rings_.keys.start_empty();
        }
    }

  private:
    GPU_DEVICE void bring(int item)
    {
        const key_tile tile = key_tile_of(arguments_, item);
        const int kv_head = item % arguments_.kv_heads;
        const packed_rows rows(arguments_, tile, kv_head);
        rings_.keys.wait_for_room();
        if (gpu::lane_index() == 0)
            bring_keys(item, static_cast<int>(tile.first_key), kv_head, rows.count > 0);
        rings_.keys.next();
        const int step = rows_a_stage(arguments_.group);
        GPU_NO_UNROLL
        for (int first = 0; first < rows.count; first += step) {
            rings_.rows.wait_for_room();
            bring_facts(rows, first, step);
            gpu::warp_sync(); /* before the first lane says that they are there */
            if (gpu::lane_index() == 0)
                bring_rows(rows, first);
            rings_.rows.next();
        }
    }

    GPU_DEVICE void bring_keys(int item, int first_key, int kv_head, bool any)
    {
        using tile = typename shape::keys_tile;
        rings_.keys.put(item);
        if (!any) {
            rings_.keys.start_empty();
            return;
        }
        gpu::mbarrier *arrived = rings_.keys.start(2 * tile::bytes);
        tile(0).copy(&maps_.k, arrived, kv_head, first_key);
        tile(shape::v_offset).copy(&maps_.v, arrived, kv_head, first_key);
    }

    /* Rows beyond those of the tile, and those that do not come, see nothing. */
    GPU_DEVICE void bring_facts(const packed_rows &rows, int first, int step) const
    {
        for (int row = gpu::lane_index(); row < KEY_TILE_ROWS; row += gpu::warp_threads) {
            row_facts facts{ 0, 0.0F, 0.0F, 0.0F };
            if (row < step && first + row < rows.count)
                facts =
                    gpu::global_load(&arguments_.facts[rows.facts(first + row, arguments_.heads)]);
            gpu::shared_store(rings_.facts() + row, facts);
        }
    }

    GPU_DEVICE void bring_rows(const packed_rows &rows, int first)
    {
        const int group = arguments_.group;
        const int bytes = shape::rows_tile::boxes * gpu::box_bytes(group, KEY_TILE_ROWS / group);
        gpu::mbarrier *arrived = rings_.rows.start(2 * bytes);
        rings_.query_tile().copy(&maps_.q, arrived, rows.first_head, rows.row(first));
        rings_.out_gradient_tile().copy(&maps_.out_gradient, arrived, rows.first_head,
                                        rows.row(first));
    }

    const attention_arguments &arguments_;
    const backward_maps &maps_;
    backward_keys_rings<D> &rings_;
};

/* A warpgroup with its 64 keys. */
template <class T, int D> class backward_keys_consumer
{
  public:
    using shape = backward_keys_shape<D>;

    GPU_DEVICE backward_keys_consumer(const attention_arguments &arguments,
                                      backward_keys_rings<D> &rings)
        : arguments_(arguments), rings_(rings), k_(0), v_(shape::v_offset)
    {
    }

    GPU_DEVICE void run()
    {
        for (int item = rings_.keys.get(); item < arguments_.items; item = rings_.keys.get())
            compute(key_tile_of(arguments_, item), item % arguments_.kv_heads);
    }

  private:
    static constexpr int parts = KEY_TILE_ROWS / 8;

    GPU_DEVICE void compute(const key_tile &tile, int kv_head)
    {
        const int count = static_cast<int>(tile.rows) * arguments_.group;
        const int step = rows_a_stage(arguments_.group);
        block<1, D / 8> k_gradient, v_gradient;
        k_gradient.clear();
        v_gradient.clear();
        GPU_NO_UNROLL
        for (int first = 0; first < count; first += step) {
            rings_.rows.wait();
            if (meets(tile, (count - first < step ? count - first : step) - 1))
                add_gradients(static_cast<int>(tile.offset) + warp_row(), k_gradient, v_gradient);
            rings_.rows.release();
        }
        rings_.keys.release();
        store(tile, kv_head, k_gradient, arguments_.scale, arguments_.k_gradient,
              arguments_.k_gradient_stride);
        store(tile, kv_head, v_gradient, 1.0F, arguments_.v_gradient, arguments_.v_gradient_stride);
    }

    /* Whether any row of the stage sees a key of the warpgroup: the last of them sees most. */
    GPU_DEVICE bool meets(const key_tile &tile, int last) const
    {
        const auto visible = static_cast<int>(gpu::shared_load(&(rings_.facts() + last)->visible));
        return group_row() < static_cast<int>(tile.keys) &&
               static_cast<int>(tile.offset) + group_row() < visible;
    }

    /* Values' gradients come while those of scores are found. `key` is the warp's first one. */
    GPU_DEVICE void add_gradients(int key, block<1, D / 8> &k_gradient, block<1, D / 8> &v_gradient)
    {
        block<1, parts> scores, rewards;
        fragments<parts> probabilities, gradients;
        start_product_transposed<T>(scores, k_, rings_.query_tile());
        start_product_transposed<T>(rewards, v_, rings_.out_gradient_tile());
        wait_for<1>(scores);
        find_probabilities(scores, key);
        probabilities.template round<T>(scores);
        wait_for<0>(rewards);
        start_product<T>(v_gradient, probabilities, rings_.out_gradient_tile());
        find_score_gradients(scores, rewards);
        gradients.template round<T>(scores);
        start_product<T>(k_gradient, gradients, rings_.query_tile());
        wait_for<0>(v_gradient);
        gpu::hold_registers(registers_of(k_gradient));
    }

    GPU_DEVICE void find_probabilities(block<1, parts> &scores, int key) const
    {
        GPU_UNROLL
        for (int i = 0; i < parts * 2; i++) {
            const row_facts row = gpu::shared_load(rings_.facts() + block_column(i / 2, i % 2));
            GPU_UNROLL
            for (int half = 0; half < 2; half++) {
                float &score = scores.part[0][i / 2][2 * half + i % 2];
                score =
                    probability(score, arguments_.scale_log2, row, key + block_row(0, 2 * half));
            }
        }
    }

    GPU_DEVICE void find_score_gradients(block<1, parts> &scores,
                                         const block<1, parts> &rewards) const
    {
        GPU_UNROLL
        for (int i = 0; i < parts * 2; i++) {
            const float delta =
                gpu::shared_load(&(rings_.facts() + block_column(i / 2, i % 2))->delta);
            GPU_UNROLL
            for (int half = 0; half < 2; half++) {
                const int at = 2 * half + i % 2;
                float &score = scores.part[0][i / 2][at];
                score = score_gradient(score, rewards.part[0][i / 2][at], delta);
            }
        }
    }

    GPU_DEVICE void store(const key_tile &tile, int kv_head, const block<1, D / 8> &gradient,
                          float factor, void *tensor, int64_t stride)
    {
        GPU_UNROLL
        for (int half = 0; half < 2; half++) {
            const int key = warp_row() + block_row(0, 2 * half);
            if (key < static_cast<int>(tile.keys))
                store_row<T>(gradient.part[0], half, factor, tensor,
                             (static_cast<int64_t>(tile.first_key) + key) * stride + kv_head * D,
                             arguments_.kv_gradient_float);
        }
    }

    const attention_arguments &arguments_;
    backward_keys_rings<D> &rings_;
    typename shape::keys_tile k_, v_;
};

template <class T, int D>
GPU_DEVICE void backward_keys(const attention_arguments &arguments, const backward_maps &maps)
{
    backward_keys_rings<D> rings;
    rings.init();
    backward_keys_rings<D>::clear_from(rows_a_stage(arguments.group));
    gpu::block_barrier();
    if (gpu::thread_index() >= gpu::warpgroup_threads) {
        gpu::take_registers<240>();
        backward_keys_consumer<T, D>(arguments, rings).run();
    } else {
        gpu::give_registers<24>();
        if (gpu::warp_index() == 0)
            backward_keys_producer<D>(arguments, maps, rings).run();
    }
}

} // namespace attention::sm90

#endif
