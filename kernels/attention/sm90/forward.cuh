/*
 * Forward, for devices with wgmma and tensor copies (compute capability 9.0).
 *
 * A block of three warpgroups. The first has one thread that takes items and keeps queries, keys
 * and values coming, 128 rows a tile; the others have 64 packed rows of the query tile each. While
 * a warpgroup turns scores of one tile of keys into powers, the tensor cores add up the values of
 * the tile before.
 *
 * What a row does not see is hidden by powers of zero, not by zeros in place of values: values of
 * all key rows have to be finite.
 */
#ifndef BALLAST_ATTENTION_SM90_FORWARD_CUH
#define BALLAST_ATTENTION_SM90_FORWARD_CUH

#include "kernels/attention/mask.cuh"
#include "kernels/attention/sm90/multiply.cuh"
#include "kernels/attention/sm90/ring.cuh"
#include "kernels/attention/sm90/tensors.cuh"
#include "kernels/attention/softmax.cuh"
#include "kernels/attention/store.cuh"
#include "kernels/common/barrier.h"

namespace attention::sm90
{

/* The tensors that are copied from. */
struct forward_maps {
    gpu::tensor_map q, k, v;
};

/* Shared memory, and who works on it. */
template <int D> struct forward_shape {
    static constexpr int threads = 3 * gpu::warpgroup_threads, consumer_warps = 8;
    static constexpr int keys = 128, stages = 2;
    using queries_tile = box_tile<QUERY_TILE_ROWS, D>;
    using keys_tile = box_tile<keys, D>;

    static constexpr int k_offset = queries_tile::bytes;
    static constexpr int v_offset = k_offset + stages * keys_tile::bytes;
    static constexpr int queries_ring_offset = v_offset + stages * keys_tile::bytes;
    static constexpr int keys_ring_offset = queries_ring_offset + item_ring::bytes;
    static constexpr int values_ring_offset = keys_ring_offset + ring<stages>::bytes;
    static constexpr int shared_bytes = values_ring_offset + ring<stages>::bytes;
};

template <int D> struct forward_rings {
    using shape = forward_shape<D>;
    item_ring queries{ shape::queries_ring_offset };
    ring<shape::stages> keys{ shape::keys_ring_offset }, values{ shape::values_ring_offset };

    /* Of the block, before anything else; a barrier follows. */
    GPU_DEVICE void init() const
    {
        if (gpu::thread_index() == 0) {
            queries.init(shape::consumer_warps);
            keys.init(shape::consumer_warps);
            values.init(shape::consumer_warps);
            gpu::fence_mbarrier_init();
        }
    }

    GPU_DEVICE typename shape::keys_tile key_tile() const
    {
        return typename shape::keys_tile(shape::k_offset + keys.stage() * shape::keys_tile::bytes);
    }

    GPU_DEVICE typename shape::keys_tile value_tile() const
    {
        return
            typename shape::keys_tile(shape::v_offset + values.stage() * shape::keys_tile::bytes);
    }
};

GPU_DEVICE int tiles_of_keys(int keys, int tile)
{
    return (keys + tile - 1) / tile;
}

/* The one thread that keeps things coming. */
template <int D> class forward_producer
{
  public:
    using shape = forward_shape<D>;

    GPU_DEVICE forward_producer(const attention_arguments &arguments, const forward_maps &maps,
                                forward_rings<D> &rings)
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
        if (tile.visible == 0) {
            rings_.queries.start_empty();
            rings_.queries.next();
            return;
        }
        bring_queries(tile, kv_head);
        const int tiles = tiles_of_keys(static_cast<int>(tile.visible), shape::keys);
        GPU_NO_UNROLL
        for (int n = 0; n < tiles; n++)
            bring_keys(static_cast<int>(tile.first_key) + n * shape::keys, kv_head);
    }

    GPU_DEVICE void bring_queries(const query_tile &tile, int kv_head)
    {
        const int group = arguments_.group;
        const int bytes =
            shape::queries_tile::boxes * gpu::box_bytes(group, QUERY_TILE_ROWS / group);
        typename shape::queries_tile(0).copy(&maps_.q, rings_.queries.start(bytes),
                                             (arguments_.first_kv_head + kv_head) * group,
                                             static_cast<int>(tile.first_row));
        rings_.queries.next();
    }

    GPU_DEVICE void bring_keys(int first_key, int kv_head)
    {
        rings_.keys.wait_for_room();
        rings_.key_tile().copy(&maps_.k, rings_.keys.start(shape::keys_tile::bytes), kv_head,
                               first_key);
        rings_.keys.next();
        rings_.values.wait_for_room();
        rings_.value_tile().copy(&maps_.v, rings_.values.start(shape::keys_tile::bytes), kv_head,
                                 first_key);
        rings_.values.next();
    }

    const attention_arguments &arguments_;
    const forward_maps &maps_;
    forward_rings<D> &rings_;
};

/* A warpgroup with its 64 packed rows. */
template <class T, int D> class forward_consumer
{
  public:
    using shape = forward_shape<D>;

    GPU_DEVICE forward_consumer(const attention_arguments &arguments, forward_rings<D> &rings)
        : arguments_(arguments), rings_(rings), q_(0)
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
        const row_mask<1> mask(arguments_, rows, warp_row());
        const int tiles = tiles_of_keys(static_cast<int>(tile.visible), shape::keys);
        const int seen = tiles_of_keys(keys_seen(arguments_, rows), shape::keys);
        online_softmax<1> softmax;
        block<1, D / 8> out;
        out.clear();
        if (seen > 0)
            attend(seen, mask, softmax, out);
        else
            rings_.queries.release();
        for (int n = seen; n < tiles; n++)
            pass_by();
        store(rows, softmax, out);
    }

    /* A tile of keys that the other warpgroup alone sees. */
    GPU_DEVICE void pass_by()
    {
        rings_.keys.wait();
        rings_.keys.release();
        rings_.values.wait();
        rings_.values.release();
    }

    GPU_DEVICE void attend(int tiles, const row_mask<1> &mask, online_softmax<1> &softmax,
                           block<1, D / 8> &out)
    {
        block<1, parts> scores;
        fragments<parts> powers;
        float shrink[1][2];

        start_scores(scores);
        finish_scores<0>(scores, tiles == 1);
        hide(scores, mask, 0);
        softmax.take(scores, arguments_.scale_log2, shrink);
        powers.template round<T>(scores);
        GPU_NO_UNROLL
        for (int n = 1; n < tiles; n++) {
            start_scores(scores);
            start_sums(out, powers);
            finish_scores<1>(scores, n == tiles - 1);
            hide(scores, mask, n * shape::keys);
            softmax.take(scores, arguments_.scale_log2, shrink);
            finish_sums(out);
            shrink_rows(out, shrink);
            powers.template round<T>(scores);
        }
        start_sums(out, powers);
        finish_sums(out);
    }

    GPU_DEVICE void start_scores(block<1, parts> &scores)
    {
        rings_.keys.wait();
        start_product_transposed<T>(scores, q_, rings_.key_tile());
    }

    /* Groups: how many were started since. The last scores are the last use of the queries. */
    template <int Groups> GPU_DEVICE void finish_scores(block<1, parts> &scores, bool last)
    {
        wait_for<Groups>(scores);
        rings_.keys.release();
        if (last)
            rings_.queries.release();
    }

    GPU_DEVICE void start_sums(block<1, D / 8> &out, const fragments<parts> &powers)
    {
        rings_.values.wait();
        start_product<T>(out, powers, rings_.value_tile());
    }

    GPU_DEVICE void finish_sums(block<1, D / 8> &out)
    {
        wait_for<0>(out);
        rings_.values.release();
    }

    GPU_DEVICE static void hide(block<1, parts> &scores, const row_mask<1> &mask, int first)
    {
        if (mask.all_see(first + shape::keys))
            return;
        GPU_UNROLL
        for (int i = 0; i < parts * 4; i++)
            if (mask.hidden(0, i % 4, first + block_column(i / 4, i % 4)))
                scores.part[0][i / 4][i % 4] = -INFINITY;
    }

    GPU_DEVICE void store(const packed_rows &rows, const online_softmax<1> &softmax,
                          const block<1, D / 8> &out)
    {
        GPU_UNROLL
        for (int half = 0; half < 2; half++) {
            const int packed = warp_row() + block_row(0, 2 * half);
            float lse, factor;
            softmax.finish(0, half, arguments_.scale, lse, factor);
            if (packed >= rows.count)
                continue;
            store_row<T>(out.part[0], half, factor, arguments_.result,
                         rows.template vector<D>(packed, arguments_.result_stride),
                         arguments_.result_float);
            if (gpu::lane_index() % 4 == 0)
                gpu::global_store(&arguments_.lse[rows.value(packed, arguments_.padded_rows)], lse);
        }
    }

    const attention_arguments &arguments_;
    forward_rings<D> &rings_;
    typename shape::queries_tile q_;
};

template <class T, int D>
GPU_DEVICE void forward(const attention_arguments &arguments, const forward_maps &maps)
{
    forward_rings<D> rings;
    rings.init();
    typename forward_shape<D>::queries_tile(0).template clear_from<forward_shape<D>::threads>(
        QUERY_TILE_ROWS / arguments.group * arguments.group);
    gpu::block_barrier();
    if (gpu::thread_index() >= gpu::warpgroup_threads) {
        gpu::take_registers<240>();
        forward_consumer<T, D>(arguments, rings).run();
    } else {
        gpu::give_registers<24>();
        if (gpu::thread_index() == 0)
            forward_producer<D>(arguments, maps, rings).run();
    }
}

} // namespace attention::sm90

#endif
