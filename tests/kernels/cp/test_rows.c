/* Kernels that move, add, round and merge rows, against what they say. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "kernels/cp/rows.h"
#include "kernels/emulation/fault.h"
#include "kernels/half/half.h"

/* More than a grid of threads has, so that threads go on in strides. */
#define MANY (1024 * 256 * 4 + 64)

static void *device(const void *values, size_t bytes)
{
    void *memory = NULL;
    cudaMalloc(&memory, bytes);
    if (values)
        cudaMemcpy(memory, values, bytes, cudaMemcpyHostToDevice);
    return memory;
}

static void host(void *values, const void *memory, size_t bytes)
{
    cudaMemcpy(values, memory, bytes, cudaMemcpyDeviceToHost);
}

static void cr_assert_no_faults(void)
{
    cr_assert_eq(emulation_faults(), 0, "%s", emulation_fault_text());
}

Test(rows, move_in_an_order_and_zeros_where_there_is_none)
{
    uint32_t from[4][8], to[5][4], which[5] = { 3, ROWS_NONE, 0, 0, 2 };
    for (uint32_t i = 0; i < 32; i++)
        from[i / 8][i % 8] = i;
    struct row_move move = { .from = device(from, sizeof from),
                             .to = device(NULL, sizeof to),
                             .which = device(which, sizeof which),
                             .count = 5,
                             .row_bytes = 16,
                             .from_stride = 32,
                             .to_stride = 16 };
    cr_assert_eq(rows_move(&move, NULL), cudaSuccess);
    host(to, move.to, sizeof to);
    for (uint32_t i = 0; i < 5; i++)
        for (uint32_t j = 0; j < 4; j++)
            cr_assert_eq(to[i][j], which[i] == ROWS_NONE ? 0 : which[i] * 8 + j);
    cr_assert_no_faults();
}

Test(rows, move_as_they_are_without_touching_what_is_between)
{
    uint32_t from[3][4], to[3][8];
    for (uint32_t i = 0; i < 12; i++)
        from[i / 4][i % 4] = i;
    memset(to, 0xee, sizeof to);
    struct row_move move = { .from = device(from, sizeof from),
                             .to = device(to, sizeof to),
                             .count = 3,
                             .row_bytes = 16,
                             .from_stride = 16,
                             .to_stride = 32 };
    cr_assert_eq(rows_move(&move, NULL), cudaSuccess);
    host(to, move.to, sizeof to);
    for (uint32_t i = 0; i < 24; i++)
        cr_assert_eq(to[i / 8][i % 8], i % 8 < 4 ? i / 8 * 4 + i % 4 : 0xeeeeeeee);
    cr_assert_no_faults();
}

Test(rows, nothing_to_do_is_no_launch)
{
    struct row_move move = { .count = 0, .row_bytes = 16 };
    struct row_convert convert = { .count = 0, .width = 4 };
    struct row_merge merge = { .rows = 0 };
    cr_assert_eq(rows_move(&move, NULL), cudaSuccess);
    cr_assert_eq(rows_convert(&convert, NULL), cudaSuccess);
    cr_assert_eq(rows_merge(&merge, NULL), cudaSuccess);
    cr_assert_eq(rows_add(NULL, NULL, 0, NULL), cudaSuccess);
}

static void cr_assert_converted(ballast_attention_type type, size_t value_bytes)
{
    /* Halfway cases go to the even neighbour: bf16 has 8 digits, fp16 11. */
    const float from[2][8] = { { 1.0F, -2.5F, 0.1F, 257.0F, 7, 7, 7, 7 },
                               { 259.0F, 2049.0F, 2051.0F, 1e-30F, 7, 7, 7, 7 } };
    unsigned char to[2 * 4 * sizeof(float)];
    struct row_convert convert = { .from = device(from, sizeof from),
                                   .to = device(NULL, sizeof to),
                                   .type = type,
                                   .count = 2,
                                   .width = 4,
                                   .from_stride = 8,
                                   .to_stride = 4 };
    cr_assert_eq(rows_convert(&convert, NULL), cudaSuccess);
    host(to, convert.to, 8 * value_bytes);
    for (uint32_t i = 0; i < 8; i++) {
        uint16_t half;
        float value = from[i / 4][i % 4], single;
        memcpy(&half, to + i * 2, sizeof half);
        if (type == BALLAST_ATTENTION_BF16)
            cr_assert_eq(half, bf16_from_float(value));
        else if (type == BALLAST_ATTENTION_F16)
            cr_assert_eq(half, fp16_from_float(value));
        memcpy(&single, to + i * sizeof single, sizeof single);
        if (type == BALLAST_ATTENTION_F32)
            cr_assert_eq(single, value);
    }
    cr_assert_no_faults();
}

Test(rows, convert_to_every_type)
{
    cr_assert_converted(BALLAST_ATTENTION_BF16, 2);
    cr_assert_converted(BALLAST_ATTENTION_F16, 2);
    cr_assert_converted(BALLAST_ATTENTION_F32, 4);
}

static float values[MANY];

Test(rows, add_more_values_than_there_are_threads)
{
    for (size_t i = 0; i < MANY; i++)
        values[i] = (float)(i % 1000);
    float *to = device(values, sizeof values), *from = device(values, sizeof values);
    cr_assert_eq(rows_add(to, from, MANY, NULL), cudaSuccess);
    host(values, to, sizeof values);
    for (size_t i = 0; i < MANY; i++)
        cr_assert_eq(values[i], 2 * (float)(i % 1000));
    cr_assert_no_faults();
}

/* Two heads, three rows: keys on both sides, on one, on the other, on neither. */
Test(rows, merge_attention_over_two_sets_of_keys)
{
    enum { ROWS = 4, HEADS = 2, WIDTH = 64 };
    const float none = -INFINITY;
    float lse[HEADS][ROWS] = { { 0.5F, 1.5F, none, none }, { 60, -60, none, none } };
    float part_lse[HEADS][ROWS] = { { 1.0F, none, 2.0F, none }, { 61, none, -3, none } };
    float out[ROWS][HEADS][WIDTH], part_out[ROWS][HEADS][WIDTH], sum[HEADS][ROWS];
    for (int i = 0; i < ROWS * HEADS * WIDTH; i++) {
        int row = i / WIDTH / HEADS, head = i / WIDTH % HEADS;
        out[row][head][i % WIDTH] = lse[head][row] == none ? 0 : (float)(i % 7);
        part_out[row][head][i % WIDTH] = part_lse[head][row] == none ? 0 : (float)(i % 5);
    }
    struct row_merge merge = { .out = device(out, sizeof out),
                               .lse = device(lse, sizeof lse),
                               .part_out = device(part_out, sizeof part_out),
                               .part_lse = device(part_lse, sizeof part_lse),
                               .rows = ROWS,
                               .heads = HEADS,
                               .head_dim = WIDTH };
    float merged[ROWS][HEADS][WIDTH];
    cr_assert_eq(rows_merge(&merge, NULL), cudaSuccess);
    host(merged, merge.out, sizeof merged);
    host(sum, merge.lse, sizeof sum);
    for (int i = 0; i < ROWS * HEADS * WIDTH; i++) {
        int row = i / WIDTH / HEADS, head = i / WIDTH % HEADS;
        double mine = exp((double)lse[head][row]), part = exp((double)part_lse[head][row]);
        double all = mine + part;
        double expected = all == 0 ? 0
                                   : (mine * (double)out[row][head][i % WIDTH] +
                                      part * (double)part_out[row][head][i % WIDTH]) /
                                         all;
        cr_assert_float_eq((double)merged[row][head][i % WIDTH], expected, 1e-5);
        if (all == 0)
            cr_assert_eq(sum[head][row], none);
        else
            cr_assert_float_eq((double)sum[head][row], log(all), 1e-5);
    }
    cr_assert_no_faults();
}
