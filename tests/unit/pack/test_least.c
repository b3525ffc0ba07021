#include <criterion/criterion.h>
#include <stdlib.h>

#include "pack/least.h"

Test(least, equals_a_linear_search)
{
    srand(3);
    for (uint32_t count = 1; count < 70; count++) {
        struct least least;
        cr_assert(least_init(&least, count));
        uint64_t keys[70] = { 0 };
        for (int round = 0; round < 200; round++) {
            uint32_t expected = 0;
            for (uint32_t i = 1; i < count; i++)
                if (keys[i] < keys[expected])
                    expected = i;
            cr_assert_eq(least_index(&least), expected);
            uint32_t index = rand() % 2 ? expected : (uint32_t)rand() % count;
            uint64_t amount = (uint64_t)rand() % 5;
            keys[index] += amount;
            least_add(&least, index, amount);
            cr_assert_eq(least_key(&least, index), keys[index]);
        }
        least_reset(&least, count);
        cr_assert_eq(least_index(&least), 0);
        cr_assert_eq(least_key(&least, count - 1), 0);
        least_fini(&least);
    }
}
