/* The heap of deadlines: the nearest comes first, whatever is added and removed. */
#include <criterion/criterion.h>

#include "base/permutation.h"
#include "serve/deadline.h"

#define COUNT 300

static void drain_in_order(struct deadlines *deadlines, size_t expected)
{
    uint64_t last = 0;
    size_t count = 0;
    struct deadline *first;
    while ((first = deadlines_first(deadlines))) {
        cr_assert_geq(first->at_ms, last);
        last = first->at_ms;
        deadlines_remove(deadlines, first);
        cr_assert_eq(first->place, 0);
        count++;
    }
    cr_assert_eq(count, expected);
}

Test(deadline, come_in_order)
{
    struct deadlines deadlines = { 0 };
    struct deadline items[COUNT] = { 0 };
    for (size_t i = 0; i < COUNT; i++)
        cr_assert(deadlines_add(&deadlines, &items[i], mix_keys(1, i) % 100));
    drain_in_order(&deadlines, COUNT);
    deadlines_fini(&deadlines);
}

Test(deadline, can_be_removed_from_anywhere)
{
    struct deadlines deadlines = { 0 };
    struct deadline items[COUNT] = { 0 };
    for (size_t i = 0; i < COUNT; i++)
        cr_assert(deadlines_add(&deadlines, &items[i], mix_keys(2, i) % 1000));
    size_t removed = 0;
    for (size_t i = 0; i < COUNT; i += 3, removed++) {
        deadlines_remove(&deadlines, &items[i]);
        deadlines_remove(&deadlines, &items[i]);
    }
    drain_in_order(&deadlines, COUNT - removed);
    deadlines_fini(&deadlines);
}
