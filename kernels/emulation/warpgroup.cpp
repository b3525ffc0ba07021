#include "kernels/emulation/warpgroup.h"

#include "kernels/emulation/access.h"
#include "kernels/emulation/block.h"
#include "kernels/emulation/fault.h"
#include "kernels/emulation/tensor_core.h"
#include "kernels/half/half.h"
#include <cmath>
#include <cstring>

namespace emulation
{

static constexpr int warps_a_group = 4;
static constexpr int chunk_numbers = 8, box_numbers = 64;
static constexpr uint32_t chunk_bytes = 16, row_bytes = 128;

/* A matrix in shared memory, from its descriptor. */
struct shared_matrix {
    uint32_t start, across, eight_rows;

    explicit shared_matrix(uint64_t descriptor)
        : start(field(descriptor, 0)), across(field(descriptor, 16)),
          eight_rows(field(descriptor, 32))
    {
    }

    /* Of the chunk that holds `column`; before the swizzle. */
    uint32_t chunk(int row, int column) const
    {
        auto r = static_cast<uint32_t>(row), c = static_cast<uint32_t>(column);
        return start + c / box_numbers * across + r / 8 * eight_rows + r % 8 * row_bytes +
               c % box_numbers * 2;
    }

  private:
    static uint32_t field(uint64_t descriptor, int shift)
    {
        return static_cast<uint32_t>(descriptor >> shift & 0x3fff) << 4;
    }
};

struct product {
    const uint32_t *a; /* not NULL: in registers */
    shared_matrix a_matrix, b_matrix;
    int columns;
    bool by_k;
    float (*to_float)(uint16_t);
    where at;
};

/*
 * Eight numbers of shared memory, read from now until the group is waited for. `checks` is false
 * where another warp of the group checks them.
 */
static void read_chunk(block &b, warp &w, uint32_t offset, bool checks, const product &p,
                       float to[chunk_numbers])
{
    offset = swizzled_128(offset);
    if (!inside_shared(running.shared + offset, chunk_bytes, p.at))
        return;
    if (checks) {
        b.shared_words.proxy_read_begins(offset, chunk_bytes, b.as_warp(), p.at);
        w.products.reads.push_back({ offset, w.products.group });
    }
    uint16_t numbers[chunk_numbers];
    std::memcpy(numbers, running.shared + offset, sizeof numbers);
    for (int i = 0; i < chunk_numbers; i++)
        to[i] = p.to_float(numbers[i]);
}

static void read_a(block &b, warp &w, const product &p, float a[16][16])
{
    int first_row = b.index_of(w) % warps_a_group * warp_result_rows;
    for (int row = 0; row < warp_result_rows; row++)
        for (int k = 0; k < 16; k += chunk_numbers)
            read_chunk(b, w, p.a_matrix.chunk(first_row + row, k), true, p, &a[row][k]);
}

static void take_a(const warp &w, const product &p, float a[16][16])
{
    for (int lane = 0; lane < warp_threads; lane++) {
        int group = lane / 4, pair = lane % 4 * 2;
        for (int i = 0; i < 4; i++) {
            uint32_t two = w.exchange.fragment[static_cast<size_t>(lane)][static_cast<size_t>(i)];
            float *to = &a[group + i % 2 * 8][pair + i / 2 * 8];
            to[0] = p.to_float(static_cast<uint16_t>(two));
            to[1] = p.to_float(static_cast<uint16_t>(two >> 16));
        }
    }
}

/* The warps of a group read the same B: each checks a quarter of it. */
static void read_b(block &b, warp &w, const product &p, float values[16][greatest_columns])
{
    int mine = b.index_of(w) % warps_a_group, number = 0;
    if (p.by_k) {
        for (int k = 0; k < 16; k++)
            for (int column = 0; column < p.columns; column += chunk_numbers)
                read_chunk(b, w, p.b_matrix.chunk(k, column), number++ % warps_a_group == mine, p,
                           &values[k][column]);
        return;
    }
    for (int column = 0; column < p.columns; column++) {
        for (int k = 0; k < 16; k += chunk_numbers) {
            float numbers[chunk_numbers] = {};
            read_chunk(b, w, p.b_matrix.chunk(column, k), number++ % warps_a_group == mine, p,
                       numbers);
            for (int i = 0; i < chunk_numbers; i++)
                values[k + i][column] = numbers[i];
        }
    }
}

/* Register i of a lane is this place of the warp's rows. */
static float &place(float value[][greatest_columns], int lane, int i)
{
    return value[lane / 4 + i / 2 % 2 * 8][i / 4 * 8 + lane % 4 * 2 + i % 2];
}

/* The result that goes to these registers: one that is on its way, or a new one. */
static pending_result &result_of(warp &w, const product &p, bool add)
{
    for (std::unique_ptr<pending_result> &r : w.products.results) {
        if (r->registers == w.exchange.registers && r->columns == p.columns) {
            if (!add)
                std::memset(r->value, 0, sizeof r->value);
            return *r;
        }
    }
    auto made = std::make_unique<pending_result>();
    made->registers = w.exchange.registers;
    made->columns = p.columns;
    std::memset(made->value, 0, sizeof made->value);
    for (int lane = 0; add && lane < warp_threads; lane++)
        for (int i = 0; i < p.columns / 2; i++)
            place(made->value, lane, i) = made->registers[static_cast<size_t>(lane)][i];
    w.products.results.push_back(std::move(made));
    return *w.products.results.back();
}

static void issue(block &b, warp &w, const product &p, bool add)
{
    if (!w.products.fenced)
        report(EMULATION_MISUSE, p.at, "wgmma without a warpgroup_fence before it");
    static thread_local float b_values[16][greatest_columns];
    float a_values[16][16] = {};
    if (p.a != nullptr)
        take_a(w, p, a_values);
    else
        read_a(b, w, p, a_values);
    read_b(b, w, p, b_values);
    pending_result &result = result_of(w, p, add);
    result.group = w.products.group;
    result.at = p.at;
    add_product(result.value, a_values, b_values, p.columns);
    b.products += static_cast<unsigned>(p.columns) / 8;
    for (float *registers : w.exchange.registers)
        for (int i = 0; i < p.columns / 2; i++)
            registers[i] = NAN;
}

void wgmma(float *d, int columns, const uint32_t *a, uint64_t a_matrix, uint64_t b_matrix,
           bool by_k, bool add, half_type type, const where &at)
{
    block &b = *running.block;
    warp &w = b.this_warp();
    auto lane = static_cast<size_t>(running.thread % warp_threads);
    w.exchange.registers[lane] = d;
    if (a != nullptr)
        std::memcpy(w.exchange.fragment[lane].data(), a, sizeof w.exchange.fragment[lane]);
    if (!b.arrive(operation::wgmma, at)) {
        b.wait_for_warp();
        return;
    }
    issue(b, w,
          { a, shared_matrix(a_matrix), shared_matrix(b_matrix), columns, by_k,
            type == half_type::bf16 ? bf16_to_float : fp16_to_float, at },
          add);
    w.products.last = at;
    w.products.digest = w.products.digest * 31 + b_matrix + static_cast<unsigned>(columns);
    b.leave(w);
}

/* For what a warp does alone once all its lanes have come. */
template <class F> static void together(operation op, const where &at, F act)
{
    block &b = *running.block;
    if (b.arrive(op, at)) {
        warp &w = b.this_warp();
        act(b, w);
        b.leave(w);
    } else {
        b.wait_for_warp();
    }
}

void warpgroup_fence(const where &at)
{
    together(operation::wgmma_fence, at, [](block &, warp &w) { w.products.fenced = true; });
}

void warpgroup_commit(const where &at)
{
    together(operation::wgmma_commit, at, [](block &, warp &w) { w.products.group++; });
}

static void deliver(pending_result &r)
{
    for (int lane = 0; lane < warp_threads; lane++)
        for (int i = 0; i < r.columns / 2; i++)
            r.registers[static_cast<size_t>(lane)][i] = place(r.value, lane, i);
}

/* Of each, those of groups before `end` are over. */
static void finish_groups(block &b, warp &w, unsigned end)
{
    auto over = [end](unsigned group) { return static_cast<int>(group - end) < 0; };
    std::vector<std::unique_ptr<pending_result>> results;
    for (std::unique_ptr<pending_result> &r : w.products.results) {
        if (over(r->group))
            deliver(*r);
        else
            results.push_back(std::move(r));
    }
    w.products.results = std::move(results);

    /* First what is over, then what goes on: groups may read the same bytes. */
    std::vector<pending_read> reads;
    for (const pending_read &read : w.products.reads) {
        if (!over(read.group))
            reads.push_back(read);
        b.shared_words.proxy_read_ends(read.offset, chunk_bytes, b.index_of(w),
                                       w.knows.of[b.index_of(w)]);
    }
    for (const pending_read &read : reads)
        b.shared_words.proxy_read_goes_on(read.offset, chunk_bytes, b.index_of(w));
    w.products.reads = std::move(reads);
}

void warpgroup_wait(int groups, const where &at)
{
    together(operation::wgmma_wait, at, [groups](block &b, warp &w) {
        w.products.fenced = false;
        if (w.products.group >= static_cast<unsigned>(groups))
            finish_groups(b, w, w.products.group - static_cast<unsigned>(groups));
    });
}

void set_registers(int registers, const where &at)
{
    together(operation::set_registers, at,
             [registers](block &, warp &w) { w.registers = registers; });
}

} // namespace emulation
