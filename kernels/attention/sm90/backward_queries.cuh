/*
 * Gradient of queries, for devices with wgmma and tensor copies.
 *
 * Blocks as in forward: one thread brings queries, the gradients of their outputs, and keys and
 * values 64 at a time; two warpgroups have 64 packed rows each. Scores, rewards and gradients of
 * scores never leave registers.
 */
#ifndef BALLAST_ATTENTION_SM90_BACKWARD_QUERIES_CUH
#define BALLAST_ATTENTION_SM90_BACKWARD_QUERIES_CUH

#include "kernels/attention/gradient.cuh"
#include "kernels/attention/mask.cuh"
#include "kernels/attention/sm90/multiply.cuh"
#include "kernels/attention/sm90/ring.cuh"
#include "kernels/attention/sm90/tensors.cuh"
#include "kernels/attention/store.cuh"
#include "kernels/common/barrier.h"

namespace attention::sm90
{

template <int D> struct backward_queries_shape {
    static constexpr int threads = 3 * gpu::warpgroup_threads, consumer_warps = 8;
    static constexpr int keys = QUERY_TILE_COLUMNS, stages = 2;
    using queries_tile = box_tile<QUERY_TILE_ROWS, D>;
    using keys_tile = box_tile<keys, D>;

    static constexpr int out_gradient_offset = queries_tile::bytes;
    static constexpr int keys_offset = 2 * queries_tile::bytes;
    static constexpr int queries_ring_offset = keys_offset + 2 * stages * keys_tile::bytes;
    static constexpr int keys_ring_offset = queries_ring_offset + item_ring::bytes;
    static constexpr int shared_bytes = keys_ring_offset + ring<stages>::bytes;
};

template <int D> struct backward_queries_rings {
    using shape = backward_queries_shape<D>;
    item_ring queries{ shape::queries_ring_offset };     /* and gradients of outputs */
    ring<shape::stages> keys{ shape::keys_ring_offset }; /* and values */

    /* Of the block, before anything else; a barrier follows. */
    GPU_DEVICE void init() const
    {
        if (gpu::thread_index() == 0) {
            queries.init(shape::consumer_warps);
            keys.init(shape::consumer_warps);
            gpu::fence_mbarrier_init();
        }
    }

    GPU_DEVICE typename shape::keys_tile key_tile() const
    {
        return tile(2 * keys.stage());
    }

    GPU_DEVICE typename shape::keys_tile value_tile() const
    {
        return tile(2 * keys.stage() + 1);
    }

  private:
    GPU_DEVICE static typename shape::keys_tile tile(int number)
    {
        return typename shape::keys_tile(shape::keys_offset + number * shape::keys_tile::bytes);
    }
};

/* The one thread that keeps things coming. */
template <int D> class backward_queries_producer
{
  public:
    using shape = backward_queries_shape<D>;

    GPU_DEVICE backward_queries_producer(const attention_arguments &arguments,
                                         const backward_maps &maps,
                                         backward_queries_rings<D> &rings)
        : arguments_(arguments), maps_(maps), rings_(rings)
    {
    }

    /* All items that this block gets; the one past the end tells the consumers to stop. */
    GPU_DEVICE void run()
    {
        int item = gpu::block_index();
        while (item < arguments_.items) {
            const int upcoming = gpu::block_count() + gpu::take_next(arguments_.counter);
            bring(item);
            item = upcoming;
        }
        rings_.queries.wait_for_room();
        rings_.queries.put(item);
        rings_.queries.start_empty();
    }

  private:
    GPU_DEVICE void bring(int item)
    {
        const query_tile tile = query_tile_of(arguments_, item);
        const int kv_head = item % arguments_.kv_heads;
        rings_.queries.wait_for_room();
        rings_.queries.put(item);
        if (tile.visible == 0)
            rings_.queries.start_empty();
        else
            bring_queries(tile, kv_head);
        rings_.queries.next();
        GPU_NO_UNROLL
        for (int first = 0; first < static_cast<int>(tile.visible); first += shape::keys)
            bring_keys(static_cast<int>(tile.first_key) + first, kv_head);
    }

    GPU_DEVICE void bring_queries(const query_tile &tile, int kv_head)
    {
        using queries_tile = typename shape::queries_tile;
        const int group = arguments_.group;
        const int bytes = queries_tile::boxes * gpu::box_bytes(group, QUERY_TILE_ROWS / group);
        const int head = (arguments_.first_kv_head + kv_head) * group;
        gpu::mbarrier *arrived = rings_.queries.start(2 * bytes);
        queries_tile(0).copy(&maps_.q, arrived, head, static_cast<int>(tile.first_row));
        queries_tile(shape::out_gradient_offset)
            .copy(&maps_.out_gradient, arrived, head, static_cast<int>(tile.first_row));
    }

    GPU_DEVICE void bring_keys(int first_key, int kv_head)
    {
        rings_.keys.wait_for_room();
        gpu::mbarrier *arrived = rings_.keys.start(2 * shape::keys_tile::bytes);
        rings_.key_tile().copy(&maps_.k, arrived, kv_head, first_key);
        rings_.value_tile().copy(&maps_.v, arrived, kv_head, first_key);
        rings_.keys.next();
    }

    const attention_arguments &arguments_;
    const backward_maps &maps_;
    backward_queries_rings<D> &rings_;
};

/* A warpgroup with its 64 packed rows. */
template <class T, int D> class backward_queries_consumer
{
  public:
    using shape = backward_queries_shape<D>;

    GPU_DEVICE backward_queries_consumer(const attention_arguments &arguments,
                                         backward_queries_rings<D> &rings)
        : arguments_(arguments), rings_(rings), q_(0), out_gradient_(shape::out_gradient_offset)
    {
    }

    GPU_DEVICE void run()
    {
        for (int item = rings_.queries.get(); item < arguments_.items; item = rings_.queries.get())
            compute(query_tile_of(arguments_, item), item % arguments_.kv_heads);
    }

  private:
    static constexpr int parts = shape::keys / 8;

    GPU_DEVICE void compute(const query_tile &tile, int kv_head)
    {
        const packed_rows rows(arguments_, tile, kv_head);
        const int seen = keys_seen(arguments_, rows);
        row_facts facts[2];
        read_facts(rows, facts);
        block<1, D / 8> gradient;
        gradient.clear();
        GPU_NO_UNROLL
        for (int first = 0; first < static_cast<int>(tile.visible); first += shape::keys) {
            rings_.keys.wait();
            if (first < seen)
                add_gradient(first, facts, gradient);
            rings_.keys.release();
        }
        rings_.queries.release();
        store(rows, gradient);
    }

    GPU_DEVICE void read_facts(const packed_rows &rows, row_facts (&facts)[2]) const
    {
        for (int half = 0; half < 2; half++) {
            const int packed = warp_row() + block_row(0, 2 * half);
            facts[half] = row_facts{ 0, 0.0F, 0.0F, 0.0F };
            if (packed < rows.count && rows.first < arguments_.rows)
                facts[half] =
                    gpu::global_load(&arguments_.facts[rows.facts(packed, arguments_.heads)]);
        }
    }

    /* Rewards come while scores become probabilities. */
    GPU_DEVICE void add_gradient(int first, const row_facts (&facts)[2], block<1, D / 8> &gradient)
    {
        block<1, parts> scores, rewards;
        start_product_transposed<T>(scores, q_, rings_.key_tile());
        start_product_transposed<T>(rewards, out_gradient_, rings_.value_tile());
        wait_for<1>(scores);
        GPU_UNROLL
        for (int i = 0; i < parts * 4; i++) {
            float &score = scores.part[0][i / 4][i % 4];
            score = probability(score, arguments_.scale_log2, facts[i % 4 / 2],
                                first + block_column(i / 4, i % 4));
        }
        wait_for<0>(rewards);
        GPU_UNROLL
        for (int i = 0; i < parts * 4; i++) {
            float &score = scores.part[0][i / 4][i % 4];
            score = score_gradient(score, rewards.part[0][i / 4][i % 4], facts[i % 4 / 2].delta);
        }
        fragments<parts> gradients;
        gradients.template round<T>(scores);
        start_product<T>(gradient, gradients, rings_.key_tile());
        wait_for<0>(gradient);
    }

    GPU_DEVICE void store(const packed_rows &rows, const block<1, D / 8> &gradient)
    {
        GPU_UNROLL
        for (int half = 0; half < 2; half++) {
            const int packed = warp_row() + block_row(0, 2 * half);
            if (packed < rows.count)
                store_row<T>(gradient.part[0], half, arguments_.scale, arguments_.result,
                             rows.template vector<D>(packed, arguments_.result_stride),
                             arguments_.result_float);
        }
    }

    const attention_arguments &arguments_;
    backward_queries_rings<D> &rings_;
    typename shape::queries_tile q_, out_gradient_;
};

template <class T, int D>
GPU_DEVICE void backward_queries(const attention_arguments &arguments, const backward_maps &maps)
{
    using shape = backward_queries_shape<D>;
    using tile = typename shape::queries_tile;
    const int covered = QUERY_TILE_ROWS / arguments.group * arguments.group;
    backward_queries_rings<D> rings;
    rings.init();
    tile(0).template clear_from<shape::threads>(covered);
    tile(shape::out_gradient_offset).template clear_from<shape::threads>(covered);
    gpu::block_barrier();
    if (gpu::thread_index() >= gpu::warpgroup_threads) {
        gpu::take_registers<240>();
        backward_queries_consumer<T, D>(arguments, rings).run();
    } else {
        gpu::give_registers<24>();
        if (gpu::thread_index() == 0)
            backward_queries_producer<D>(arguments, maps, rings).run();
    }
}

} // namespace attention::sm90

#endif
