/* bf16 and fp16: every number there and back, and where the border between two neighbours lies. */
#include "kernels/half/half.h"
#include <criterion/criterion.h>
#include <math.h>

struct format {
    float (*to_float)(uint16_t bits);
    uint16_t (*from_float)(float value);
    uint16_t infinity;
};

static const struct format bf16 = { bf16_to_float, bf16_from_float, 0x7f80 };
static const struct format fp16 = { fp16_to_float, fp16_from_float, 0x7c00 };

static void check_there_and_back(const struct format *format)
{
    for (uint32_t bits = 0; bits <= 0xffff; bits++) {
        float value = format->to_float((uint16_t)bits);
        if ((bits & 0x7fff) > format->infinity)
            cr_assert(isnan(value), "%x", bits);
        else
            cr_assert_eq(format->from_float(value), bits, "%x", bits);
    }
    cr_assert(isnan(format->to_float(format->from_float(NAN))));
}

/* The middle of two neighbours goes to the even one, what is beside it to the nearer one. */
static void check_borders(const struct format *format)
{
    for (uint32_t bits = 0; bits + 1 < format->infinity; bits++) {
        float low = format->to_float((uint16_t)bits), high = format->to_float((uint16_t)(bits + 1));
        float middle = low + (high - low) / 2;
        cr_assert_eq(format->from_float(middle), bits % 2 == 0 ? bits : bits + 1, "%x", bits);
        cr_assert_eq(format->from_float(nextafterf(middle, low)), bits, "%x", bits);
        cr_assert_eq(format->from_float(nextafterf(middle, high)), bits + 1, "%x", bits);
        cr_assert_eq(format->from_float(-middle) & 0x7fff, format->from_float(middle));
    }
}

Test(half, there_and_back)
{
    check_there_and_back(&bf16);
    check_there_and_back(&fp16);
}

Test(half, rounds_to_the_nearest_and_ties_to_even)
{
    check_borders(&bf16);
    check_borders(&fp16);
}

Test(half, knows_its_numbers)
{
    cr_assert_eq(fp16_to_float(0x3c00), 1.0F);
    cr_assert_eq(fp16_to_float(0x0001), 0x1p-24F);
    cr_assert_eq(fp16_to_float(0x7bff), 65504.0F);
    cr_assert_eq(fp16_from_float(65519.9F), 0x7bff);
    cr_assert_eq(fp16_from_float(65520.0F), 0x7c00);
    cr_assert_eq(bf16_to_float(0x3f80), 1.0F);
    cr_assert_eq(bf16_from_float(3.4e38F), 0x7f80);
}
