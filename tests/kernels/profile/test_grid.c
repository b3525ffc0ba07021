#include <criterion/criterion.h>

#include "kernels/profile/grid.h"

Test(profile_grid, lengths_double_from_first_to_last)
{
    struct profile_range range = { 16, 4096 };
    cr_assert_eq(profile_range_count(range), 9);
    cr_expect_eq(profile_range_at(range, 0), 16);
    cr_expect_eq(profile_range_at(range, 8), 4096);
}

Test(profile_grid, a_last_that_is_no_double_is_not_reached)
{
    struct profile_range range = { 100, 799 };
    cr_expect_eq(profile_range_count(range), 3);
    cr_expect_eq(profile_range_at(range, 2), 400);
}

Test(profile_grid, largest_lengths_do_not_wrap)
{
    cr_expect_eq(profile_range_count((struct profile_range){ 1u << 31, UINT32_MAX }), 1);
    cr_expect_eq(profile_range_count((struct profile_range){ 2, 1 }), 0);
}

Test(profile_grid, copies_make_the_waves)
{
    struct profile_bounds bounds = { .waves = 4, .slots = 264, .bytes = UINT64_MAX };
    for (uint64_t tiles = 1; tiles < 3000; tiles++) {
        uint64_t copies = profile_copies(&bounds, tiles, 1);
        cr_assert_geq(profile_waves(&bounds, copies * tiles), 4);
        cr_assert(copies == 1 || profile_waves(&bounds, (copies - 1) * tiles) < 4);
    }
}

Test(profile_grid, memory_bounds_the_copies)
{
    struct profile_bounds bounds = { .waves = 4, .slots = 264, .bytes = 1000 };
    cr_expect_eq(profile_copies(&bounds, 1, 10), 100);
    cr_expect_eq(profile_copies(&bounds, 1, 1000), 1);
    cr_expect_eq(profile_copies(&bounds, 1, 1001), 0);
    cr_expect_float_eq(profile_waves(&bounds, 132), 0.5, 1e-12);
}
