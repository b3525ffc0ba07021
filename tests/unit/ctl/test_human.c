#include <criterion/criterion.h>

#include "ctl/human.h"

Test(human, counts_are_grouped)
{
    char text[HUMAN_BYTES];
    cr_assert_str_eq(human_count(0, text), "0");
    cr_assert_str_eq(human_count(999, text), "999");
    cr_assert_str_eq(human_count(1000, text), "1,000");
    cr_assert_str_eq(human_count(5000814, text), "5,000,814");
    cr_assert_str_eq(human_count(UINT64_MAX, text), "18,446,744,073,709,551,615");
}

Test(human, bytes_keep_four_digits_at_most)
{
    char text[HUMAN_BYTES];
    cr_assert_str_eq(human_bytes(0, text), "0 B");
    cr_assert_str_eq(human_bytes(1023, text), "1023 B");
    cr_assert_str_eq(human_bytes(1024, text), "1.0 KiB");
    cr_assert_str_eq(human_bytes((1 << 20) - 1, text), "1.0 MiB");
    cr_assert_str_eq(human_bytes(3 << 29, text), "1.5 GiB");
    cr_assert_str_eq(human_bytes(UINT64_MAX, text), "16.0 EiB");
}

Test(human, one_is_no_plural)
{
    cr_assert_str_eq(human_plural(0), "s");
    cr_assert_str_eq(human_plural(1), "");
    cr_assert_str_eq(human_plural(2), "s");
}

Test(human, durations_have_two_units)
{
    char text[HUMAN_BYTES];
    cr_assert_str_eq(human_duration(0, text), "0 ms");
    cr_assert_str_eq(human_duration(999, text), "999 ms");
    cr_assert_str_eq(human_duration(59999, text), "59 s");
    cr_assert_str_eq(human_duration(200000, text), "3 min 20 s");
    cr_assert_str_eq(human_duration(7980000, text), "2 h 13 min");
    cr_assert_str_eq(human_duration(UINT64_C(100) * 3600 * 1000, text), "4 d 4 h");
    human_duration(UINT64_MAX, text);
}
