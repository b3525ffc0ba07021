#include "kernels/emulation/matrix.h"

#include "kernels/emulation/access.h"
#include "kernels/emulation/block.h"
#include "kernels/emulation/tensor_core.h"
#include "kernels/half/half.h"
#include <cstring>

namespace emulation
{

static constexpr int matrices = 4, matrix_rows = 8;
static constexpr size_t row_bytes = 16;

/* Word of `lane` of a matrix whose rows are given: two neighbours in a row, or in a column. */
static uint32_t matrix_word(const uint8_t *const *rows, int lane, bool transposed)
{
    int group = lane / 4, pair = lane % 4 * 2;
    uint16_t half[2];
    for (int i = 0; i < 2; i++) {
        int row = transposed ? pair + i : group, column = transposed ? group : pair + i;
        std::memcpy(&half[i], rows[row] + column * 2, sizeof half[i]);
    }
    return half[0] | static_cast<uint32_t>(half[1]) << 16;
}

static void load_matrices(block &b, warp_exchange &x, bool transposed, const where &at)
{
    static const uint8_t zeros[row_bytes] = {};
    b.banks.count_rows(x.row.data(), at);
    for (const uint8_t *&row : x.row) {
        if (inside_shared(row, row_bytes, at))
            b.shared_words.read(shared_offset(row), row_bytes, b.as_warp(), at);
        else
            row = zeros;
    }
    for (int matrix = 0; matrix < matrices; matrix++)
        for (int lane = 0; lane < warp_threads; lane++)
            x.fragment[static_cast<size_t>(lane)][static_cast<size_t>(matrix)] =
                matrix_word(&x.row[static_cast<size_t>(matrix * matrix_rows)], lane, transposed);
}

void ldmatrix_x4(uint32_t out[4], const void *row, bool transposed, const where &at)
{
    block &b = *running.block;
    warp &w = b.this_warp();
    auto lane = static_cast<size_t>(running.thread % warp_threads);
    w.exchange.row[lane] = static_cast<const uint8_t *>(row);
    if (b.arrive(operation::ldmatrix, at)) {
        load_matrices(b, w.exchange, transposed, at);
        b.leave(w);
    } else {
        b.wait_for_warp();
    }
    std::memcpy(out, w.exchange.fragment[lane].data(), sizeof w.exchange.fragment[lane]);
}

template <float convert(uint16_t)>
static void lay_out_operands(warp_exchange &x, int lane, const uint32_t a[4], const uint32_t *b,
                             int columns)
{
    int group = lane / 4, pair = lane % 4 * 2;
    for (int i = 0; i < 4; i++) {
        float *to = &x.a[group + i % 2 * 8][pair + i / 2 * 8];
        to[0] = convert(static_cast<uint16_t>(a[i]));
        to[1] = convert(static_cast<uint16_t>(a[i] >> 16));
    }
    for (int i = 0; i < columns / 4; i++) {
        float(*to)[16] = &x.b[pair + i % 2 * 8];
        int column = group + i / 2 * 8;
        to[0][column] = convert(static_cast<uint16_t>(b[i]));
        to[1][column] = convert(static_cast<uint16_t>(b[i] >> 16));
    }
}

static void lay_out_sums(warp_exchange &x, int lane, const float c[4], int first_column)
{
    int group = lane / 4, column = first_column + lane % 4 * 2;
    std::memcpy(&x.c[group][column], c, 2 * sizeof *c);
    std::memcpy(&x.c[group + 8][column], c + 2, 2 * sizeof *c);
}

static void take_sums(const warp_exchange &x, int lane, float c[4], int first_column)
{
    int group = lane / 4, column = first_column + lane % 4 * 2;
    std::memcpy(c, &x.d[group][column], 2 * sizeof *c);
    std::memcpy(c + 2, &x.d[group + 8][column], 2 * sizeof *c);
}

static void lay_out(warp_exchange &x, int lane, const uint32_t a[4], const uint32_t *b, int columns,
                    half_type type)
{
    if (type == half_type::bf16)
        lay_out_operands<bf16_to_float>(x, lane, a, b, columns);
    else
        lay_out_operands<fp16_to_float>(x, lane, a, b, columns);
}

static void multiply_together(block &b, warp &w, int columns, const where &at)
{
    if (b.arrive(operation::mma, at)) {
        b.products += static_cast<unsigned>(columns) / 8;
        multiply_16x16(w.exchange.d, w.exchange.c, w.exchange.a, w.exchange.b, columns);
        b.leave(w);
    } else {
        b.wait_for_warp();
    }
}

void mma_m16n8k16(float c[4], const uint32_t a[4], const uint32_t b[2], half_type type,
                  const where &at)
{
    warp &w = running.block->this_warp();
    int lane = running.thread % warp_threads;
    lay_out(w.exchange, lane, a, b, 8, type);
    lay_out_sums(w.exchange, lane, c, 0);
    multiply_together(*running.block, w, 8, at);
    take_sums(w.exchange, lane, c, 0);
}

void mma_m16n16k16(float c0[4], float c1[4], const uint32_t a[4], const uint32_t b[4],
                   half_type type, const where &at)
{
    warp &w = running.block->this_warp();
    int lane = running.thread % warp_threads;
    lay_out(w.exchange, lane, a, b, 16, type);
    lay_out_sums(w.exchange, lane, c0, 0);
    lay_out_sums(w.exchange, lane, c1, 8);
    multiply_together(*running.block, w, 16, at);
    take_sums(w.exchange, lane, c0, 0);
    take_sums(w.exchange, lane, c1, 8);
}

} // namespace emulation
