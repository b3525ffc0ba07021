#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/permutation.h"

Test(permutation, hits_every_value_once)
{
    for (uint64_t count = 1; count < 400; count++) {
        struct permutation permutation;
        permutation_init(&permutation, count, count * 7);
        unsigned char *seen = calloc(count, 1);
        for (uint64_t i = 0; i < count; i++) {
            uint64_t to = permutation_at(&permutation, i);
            cr_assert_lt(to, count);
            cr_assert_eq(seen[to]++, 0, "count %lu: %lu twice", count, to);
        }
        free(seen);
    }
}

Test(permutation, works_past_32_bits)
{
    uint64_t count = (UINT64_C(1) << 40) + 12345;
    struct permutation permutation;
    permutation_init(&permutation, count, 1);
    uint64_t largest = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t to = permutation_at(&permutation, count - 1 - i);
        cr_assert_lt(to, count);
        largest = to > largest ? to : largest;
    }
    cr_assert_gt(largest, UINT64_C(1) << 38, "a thousand draws reach into the upper half");
}

Test(permutation, key_changes_the_order)
{
    struct permutation a, b;
    permutation_init(&a, 1000, 1);
    permutation_init(&b, 1000, 2);
    int same = 0;
    for (uint64_t i = 0; i < 1000; i++)
        same += permutation_at(&a, i) == permutation_at(&b, i);
    cr_assert_lt(same, 20);
}

/* First and last values spread evenly: a weak round function would show here. */
Test(permutation, first_position_is_spread_over_keys)
{
    int buckets[10] = { 0 };
    for (uint64_t key = 0; key < 10000; key++) {
        struct permutation permutation;
        permutation_init(&permutation, 1000, key);
        buckets[permutation_at(&permutation, 0) / 100]++;
    }
    for (int i = 0; i < 10; i++) {
        cr_assert_gt(buckets[i], 850);
        cr_assert_lt(buckets[i], 1150);
    }
}

Test(permutation, golden)
{
    struct permutation permutation;
    permutation_init(&permutation, 10, 42);
    uint64_t order[10], expected[10] = { 7, 4, 6, 5, 3, 1, 9, 2, 8, 0 };
    for (uint64_t i = 0; i < 10; i++)
        order[i] = permutation_at(&permutation, i);
    for (int i = 0; i < 10; i++)
        cr_assert_eq(order[i], expected[i],
                     "a shuffle that changes breaks every resume: place %d is %lu", i, order[i]);
}

Test(permutation, is_undone_by_its_index)
{
    static const uint64_t counts[] = { 1, 2, 3, 100, 1000, UINT64_C(1) << 40 };
    struct permutation permutation;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        permutation_init(&permutation, counts[c], 77 + c);
        for (uint64_t i = 0; i < counts[c] && i < 1000; i++)
            cr_assert_eq(permutation_index(&permutation, permutation_at(&permutation, i)), i);
    }
}
