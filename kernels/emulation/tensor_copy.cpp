#include "kernels/emulation/tensor_copy.h"

#include "kernels/emulation/access.h"
#include "kernels/emulation/block.h"
#include "kernels/emulation/fault.h"
#include <algorithm>
#include <cstring>

namespace emulation
{

static constexpr uint32_t number_bytes = 2, chunk_bytes = 16, box_row_bytes = 128;
static constexpr uint32_t box_alignment = 128, greatest_box = 256;

cudaError_t describe_tensor(const tensor_description &d, tensor_map *ret_map)
{
    bool aligned = reinterpret_cast<uintptr_t>(d.start) % chunk_bytes == 0 &&
                   d.y_stride * number_bytes % chunk_bytes == 0 &&
                   d.z_stride * number_bytes % chunk_bytes == 0;
    bool sizes = d.width > 0 && d.height > 0 && d.depth > 0 && d.y_stride > 0 && d.z_stride > 0;
    bool box = d.box_width * number_bytes == box_row_bytes && d.box_height >= 1 &&
               d.box_height <= greatest_box && d.box_depth >= 1 && d.box_depth <= greatest_box;
    if (d.start == nullptr || !aligned || !sizes || !box)
        return cudaErrorInvalidValue;
    *ret_map = { d.start,
                 { d.width, d.height, d.depth },
                 { d.y_stride, d.z_stride },
                 { d.box_width, d.box_height, d.box_depth },
                 {} };
    return cudaSuccess;
}

/* Where a row of the box begins, NULL if it is outside of the tensor. */
static const void *row_of(const tensor_map &map, int x, int64_t y, int64_t z)
{
    if (x < 0 || y < 0 || z < 0 || x >= static_cast<int64_t>(map.sizes[0]) || y >= map.sizes[1] ||
        z >= map.sizes[2])
        return nullptr;
    return static_cast<const uint16_t *>(map.start) + x + y * map.strides[0] + z * map.strides[1];
}

static bool check_target(const void *shared, uint32_t bytes, const where &at)
{
    uint32_t offset = shared_offset(shared);
    if (offset % box_alignment == 0 && offset < running.shared_bytes &&
        offset + bytes <= running.shared_bytes)
        return true;
    report(EMULATION_OUT_OF_BOUNDS, at,
           "a box of %u bytes at shared memory + %u, of which there are %zu; aligned to %u", bytes,
           offset, running.shared_bytes, box_alignment);
    return false;
}

void copy_box(void *shared, const tensor_map *map, void *mbarrier, int x, int y, int z,
              const where &at)
{
    block &b = *running.block;
    uint32_t rows = map->box[1] * map->box[2];
    if (!check_target(shared, rows * box_row_bytes, at))
        b.give_up();
    pending_box box{};
    box.offset = shared_offset(shared);
    box.mbarrier = static_cast<size_t>(find_mbarrier(mbarrier, true, at));
    box.warp = b.index_of(b.this_warp());
    box.at = at;
    box.row_bytes =
        std::min(box_row_bytes, (map->sizes[0] - static_cast<uint32_t>(x)) * number_bytes);
    for (uint32_t row = 0; row < rows; row++) {
        const void *from = row_of(*map, x, y + static_cast<int64_t>(row % map->box[1]),
                                  z + static_cast<int64_t>(row / map->box[1]));
        if (from != nullptr && !note_global_read(from, box.row_bytes, at))
            from = nullptr;
        box.rows.push_back(from);
    }
    uint32_t bytes = rows * box_row_bytes;
    b.shared_words.check_fenced(box.offset, bytes, b.as_lane(), at);
    b.shared_words.write_begins(box.offset, bytes, b.as_lane(), at);
    b.boxes.push_back(std::move(box));
    if (b.options.landing == EMULATION_EARLY)
        land_a_box(b);
}

static void bring(const pending_box &box)
{
    for (uint32_t row = 0; row < box.rows.size(); row++) {
        uint8_t bytes[box_row_bytes] = {};
        if (box.rows[row] != nullptr)
            std::memcpy(bytes, box.rows[row], box.row_bytes);
        for (uint32_t chunk = 0; chunk < box_row_bytes; chunk += chunk_bytes) {
            uint32_t to = swizzled_128(box.offset + row * box_row_bytes + chunk);
            std::memcpy(running.shared + to, bytes + chunk, chunk_bytes);
        }
    }
}

void land_a_box(block &b)
{
    size_t index = b.below(static_cast<unsigned>(b.boxes.size()));
    pending_box box = std::move(b.boxes[index]);
    b.boxes.erase(b.boxes.begin() + static_cast<ptrdiff_t>(index));
    bring(box);
    phase_barrier &m = b.mbarriers[box.mbarrier];
    size_t bytes = box.rows.size() * box_row_bytes;
    b.shared_words.write_ends(
        box.offset, bytes, make_stamp(max_warps + static_cast<int>(box.mbarrier), m.copy_clock()),
        { box.warp, whole_warp, nullptr, nullptr }, box.at);
    bytes_came(b, m, static_cast<long>(bytes));
}

} // namespace emulation
