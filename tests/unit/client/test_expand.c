/* The inner loops against the plainest ones, at every alignment and many lengths. */
#include "expand.h"

#include <criterion/criterion.h>
#include <string.h>

#define MOST 150

/* Tokens of `width` bytes, from `from` on; token i is (i x 40503 + 7) in that width. */
static uint32_t token_at(size_t i, uint32_t width)
{
    uint32_t token = (uint32_t)i * 40503u + 7;
    return width == 2 ? token & 0xffff : token & 0x7fffffff;
}

static void put_tokens(unsigned char *from, size_t count, uint32_t width)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t token = token_at(i, width);
        memcpy(from + i * width, &token, width);
    }
}

static void expect_chunk(const unsigned char *from, size_t count, uint32_t width)
{
    int32_t tokens[MOST + 1], labels[MOST + 1];
    memset(tokens, 0x55, sizeof tokens);
    memset(labels, 0x55, sizeof labels);
    expand_chunk(from, count, width, tokens, labels);
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(tokens[i], (int32_t)token_at(i, width));
        cr_assert_eq(labels[i], (int32_t)token_at(i + 1, width));
    }
    cr_assert_eq(tokens[count], 0x55555555, "written beyond the end");
    cr_assert_eq(labels[count], 0x55555555, "written beyond the end");
}

Test(client_expand, chunks_of_any_length_and_alignment)
{
    for (uint32_t width = 2; width <= 4; width += 2)
        for (size_t shift = 0; shift < 8; shift++) {
            unsigned char bytes[8 + 4 * (MOST + 1)];
            put_tokens(bytes + shift, MOST + 1, width);
            for (size_t count = 1; count <= MOST; count++)
                expect_chunk(bytes + shift, count, width);
        }
}

Test(client_expand, largest)
{
    for (uint32_t width = 2; width <= 4; width += 2)
        for (size_t count = 0; count <= MOST; count++) {
            unsigned char bytes[1 + 4 * MOST];
            put_tokens(bytes + 1, count, width);
            uint32_t largest = 0;
            for (size_t i = 0; i < count; i++)
                largest = token_at(i, width) > largest ? token_at(i, width) : largest;
            cr_assert_eq(expand_largest(bytes + 1, count, width), largest);
        }
}

Test(client_expand, positions_and_filling)
{
    int32_t row[MOST + 1];
    for (size_t count = 0; count <= MOST; count++) {
        row[count] = -7;
        expand_positions(row, count, 1000000);
        for (size_t i = 0; i < count; i++)
            cr_assert_eq(row[i], 1000000 + (int32_t)i);
        expand_fill(row, count, -100);
        for (size_t i = 0; i < count; i++)
            cr_assert_eq(row[i], -100);
        cr_assert_eq(row[count], -7);
    }
}
