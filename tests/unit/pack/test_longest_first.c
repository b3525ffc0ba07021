#include <criterion/criterion.h>
#include <stdlib.h>

#include "pack/longest_first.h"

Test(longest_first, is_a_stable_sort)
{
    srand(11);
    struct longest_first sort = { 0 };
    struct piece items[300];
    for (size_t count = 0; count < 300; count += 7) {
        for (size_t i = 0; i < count; i++)
            items[i] = (struct piece){ .document = i, .length = 1 + (uint32_t)rand() % 20 };
        cr_assert_eq(longest_first_sort(&sort, items, count, NULL), 0);
        for (size_t i = 1; i < count; i++) {
            cr_assert_geq(items[i - 1].length, items[i].length);
            if (items[i - 1].length == items[i].length)
                cr_assert_lt(items[i - 1].document, items[i].document);
        }
    }
    longest_first_fini(&sort);
}
