#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/grow.h"

Test(grow, keeps_content_and_doubles)
{
    int *array = NULL;
    size_t capacity = 0;
    for (int i = 0; i < 1000; i++) {
        cr_assert(grow(array, &capacity, (size_t)i + 1));
        array[i] = i;
    }
    for (int i = 0; i < 1000; i++)
        cr_assert_eq(array[i], i);
    cr_assert_eq(capacity, 1024);
    free(array);
}

Test(grow, impossible_sizes_change_nothing)
{
    int *array = NULL;
    size_t capacity = 0;
    cr_assert(grow(array, &capacity, 1));
    int *before = array;
    cr_assert(!grow(array, &capacity, SIZE_MAX));
    cr_assert(!grow(array, &capacity, SIZE_MAX / 4));
    cr_assert_eq(array, before);
    cr_assert_eq(capacity, 16);
    free(array);
}
