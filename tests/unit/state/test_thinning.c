/* Which snapshots stay: few, however long a job runs, and never far from any step behind it. */
#include <criterion/criterion.h>

#include "state/thinning.h"

#define MOST 256

/* Removes what is not kept; returns how many are left. */
static size_t sweep(struct thinning_item *items, size_t count, uint64_t centre)
{
    size_t kept = 0;
    thinning_choose(items, count, centre);
    for (size_t i = 0; i < count; i++)
        if (items[i].keep)
            items[kept++] = items[i];
    return kept;
}

Test(thinning, stays_small_and_near_while_a_job_runs)
{
    struct thinning_item items[MOST];
    size_t count = 0;
    for (uint64_t step = 100; step <= 1000000; step += 100) {
        items[count++] = (struct thinning_item){ .step = step, .bytes = 4000 };
        count = sweep(items, count, step);
        cr_assert_leq(count, 24, "at step %llu", (unsigned long long)step);
        cr_assert_eq(items[count - 1].step, step);
    }
    for (uint64_t back = 100; back < 1000000; back += 7777) {
        uint64_t step = 1000000 - back, nearest = 0;
        for (size_t i = 0; i < count; i++)
            nearest = items[i].step <= step ? items[i].step : nearest;
        cr_assert_leq(step - nearest, 2 * back + 100, "%llu back", (unsigned long long)back);
    }
}

Test(thinning, the_last_few_behind_the_job_stay)
{
    struct thinning_item items[] = { { 96, 1, false },  { 97, 1, false },  { 98, 1, false },
                                     { 99, 1, false },  { 100, 1, false }, { 140, 1, false },
                                     { 150, 1, false }, { 900, 1, false } };
    size_t count = sweep(items, sizeof items / sizeof *items, 100);
    const uint64_t expected[] = { 96, 97, 98, 99, 100, 150, 900 };
    cr_assert_eq(count, 7);
    for (size_t i = 0; i < count; i++)
        cr_assert_eq(items[i].step, expected[i]);
}

Test(thinning, bytes_are_bounded_but_the_nearest_stay)
{
    struct thinning_item items[16];
    for (size_t i = 0; i < 16; i++)
        items[i] = (struct thinning_item){ .step = UINT64_C(1) << i, .bytes = 100000 };
    size_t count = sweep(items, 16, UINT64_C(1) << 15);
    cr_assert_leq(count * 100000, THINNING_MOST_BYTES);
    cr_assert_eq(items[count - 1].step, UINT64_C(1) << 15);
    for (size_t i = 0; i < 16; i++)
        items[i] = (struct thinning_item){ .step = i, .bytes = 10000000 };
    cr_assert_eq(sweep(items, 16, 15), THINNING_NEAR);
    cr_assert_eq(items[0].step, 12);
}

Test(thinning, takes_nothing_and_one)
{
    struct thinning_item item = { .step = UINT64_MAX, .bytes = UINT64_MAX };
    thinning_choose(NULL, 0, 5);
    cr_assert_eq(sweep(&item, 1, 0), 1);
}
