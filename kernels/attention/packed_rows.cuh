/*
 * Packed query rows: the query heads of one KV head at some consecutive rows, as rows of one
 * matrix. Packed row p is head p % group at row first + p / group.
 */
#ifndef BALLAST_ATTENTION_PACKED_ROWS_CUH
#define BALLAST_ATTENTION_PACKED_ROWS_CUH

#include "kernels/attention/arguments.h"
#include "kernels/common/memory.h"

namespace attention
{

struct packed_rows {
    int first;      /* query row */
    int count;      /* packed rows */
    int first_head; /* query head of packed row 0 */
    int group;

    /* Of a query tile or a key tile. */
    template <class Tile>
    GPU_DEVICE packed_rows(const attention_arguments &arguments, const Tile &tile, int kv_head)
        : first(static_cast<int>(tile.first_row)),
          count(static_cast<int>(tile.rows) * arguments.group),
          first_head((arguments.first_kv_head + kv_head) * arguments.group), group(arguments.group)
    {
    }

    GPU_DEVICE int row(int packed) const
    {
        return first + packed / group;
    }

    GPU_DEVICE int head(int packed) const
    {
        return first_head + packed % group;
    }

    /* Where the vector begins in a tensor of query rows. */
    template <int D> GPU_DEVICE int64_t vector(int packed, int64_t stride) const
    {
        return row(packed) * stride + head(packed) * D;
    }

    /* Where its facts are. */
    GPU_DEVICE int64_t facts(int packed, int heads) const
    {
        return static_cast<int64_t>(row(packed)) * heads + head(packed);
    }

    /* Where the value is in a tensor of one float a head and row. */
    GPU_DEVICE int64_t value(int packed, int padded_rows) const
    {
        return static_cast<int64_t>(head(packed)) * padded_rows + row(packed);
    }
};

GPU_DEVICE query_tile query_tile_of(const attention_arguments &arguments, int item)
{
    return gpu::global_load(&arguments.query_tiles[item / arguments.kv_heads]);
}

} // namespace attention

#endif
