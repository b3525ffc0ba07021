/* The plan shelf: what is kept, in what order plans go, and the bounds. */
#include <criterion/criterion.h>

#include "serve/plan_shelf.h"

#define LEAST 3
#define MOST 6

static struct shared_plan *plan_of(uint64_t step)
{
    struct step_plan plan = { .step = step };
    struct shared_plan *shared;
    cr_assert_eq(shared_plan_new(&plan, (struct digest){ 0 }, NULL, &shared, NULL), 0);
    return shared;
}

static size_t plan_bytes(void)
{
    struct shared_plan *plan = plan_of(0);
    size_t bytes = plan->bytes;
    shared_plan_unref(plan);
    return bytes;
}

static void init(struct plan_shelf *shelf, size_t bytes)
{
    struct plan_shelf_limits limits = { LEAST, MOST, bytes };
    cr_assert_eq(plan_shelf_init(shelf, limits, NULL), 0);
}

/* Step 100 stays, 200 to 299 go last. */
static enum plan_need need(void *context, uint64_t step)
{
    (void)context;
    if (step == 100)
        return PLAN_STAYS;
    return step >= 200 && step < 300 ? PLAN_GOES_LAST : PLAN_MAY_GO;
}

static bool put(struct plan_shelf *shelf, uint64_t step)
{
    struct shared_plan *plan = plan_of(step);
    if (plan_shelf_put(shelf, plan, need, NULL))
        return true;
    shared_plan_unref(plan);
    return false;
}

static void use(struct plan_shelf *shelf, uint64_t step)
{
    struct shared_plan *plan = plan_shelf_use(shelf, step);
    cr_assert_not_null(plan);
    cr_assert_eq(plan->plan.step, step);
    shared_plan_unref(plan);
}

Test(plan_shelf, keeps_its_least_whatever_they_weigh)
{
    struct plan_shelf shelf;
    init(&shelf, 0);
    for (uint64_t step = 0; step < 10; step++)
        cr_assert(put(&shelf, step));
    cr_assert_eq(shelf.by_step.count, LEAST);
    cr_assert_eq(shelf.bytes, LEAST * plan_bytes());
    cr_assert_not(plan_shelf_has(&shelf, 6));
    cr_assert(plan_shelf_has(&shelf, 7) && plan_shelf_has(&shelf, 9));
    plan_shelf_fini(&shelf);
}

Test(plan_shelf, keeps_more_while_they_fit)
{
    struct plan_shelf shelf;
    init(&shelf, 5 * plan_bytes());
    for (uint64_t step = 0; step < 10; step++)
        cr_assert(put(&shelf, step));
    cr_assert_eq(shelf.by_step.count, 5);
    plan_shelf_fini(&shelf);
    init(&shelf, SIZE_MAX);
    for (uint64_t step = 0; step < 10; step++)
        cr_assert(put(&shelf, step));
    cr_assert_eq(shelf.by_step.count, MOST);
    plan_shelf_fini(&shelf);
}

Test(plan_shelf, the_least_recently_used_goes_first)
{
    struct plan_shelf shelf;
    init(&shelf, 0);
    put(&shelf, 1);
    put(&shelf, 2);
    put(&shelf, 3);
    use(&shelf, 1);
    put(&shelf, 4);
    cr_assert(plan_shelf_has(&shelf, 1));
    cr_assert_not(plan_shelf_has(&shelf, 2));
    cr_assert_null(plan_shelf_use(&shelf, 2));
    plan_shelf_fini(&shelf);
}

Test(plan_shelf, what_goes_last_outlives_what_may_go)
{
    struct plan_shelf shelf;
    init(&shelf, 0);
    put(&shelf, 100);
    put(&shelf, 200);
    put(&shelf, 3);
    put(&shelf, 4);
    cr_assert_not(plan_shelf_has(&shelf, 3));
    put(&shelf, 201); /* pushes 4 out, then there is nothing left but these */
    put(&shelf, 202);
    cr_assert(plan_shelf_has(&shelf, 100));
    cr_assert_not(plan_shelf_has(&shelf, 200));
    cr_assert(plan_shelf_has(&shelf, 201) && plan_shelf_has(&shelf, 202));
    plan_shelf_fini(&shelf);
}

static enum plan_need all_stay(void *context, uint64_t step)
{
    (void)context;
    (void)step;
    return PLAN_STAYS;
}

Test(plan_shelf, refuses_when_all_must_stay)
{
    struct plan_shelf shelf;
    init(&shelf, 0);
    for (uint64_t step = 0; step < LEAST; step++)
        put(&shelf, step);
    struct shared_plan *plan = plan_of(9);
    cr_assert_not(plan_shelf_put(&shelf, plan, all_stay, NULL));
    shared_plan_unref(plan);
    cr_assert_eq(shelf.by_step.count, LEAST);
    plan_shelf_fini(&shelf);
}

Test(plan_shelf, a_plan_takes_the_place_of_an_earlier_one)
{
    struct plan_shelf shelf;
    init(&shelf, 0);
    put(&shelf, 7);
    put(&shelf, 7);
    cr_assert_eq(shelf.by_step.count, 1);
    cr_assert_eq(shelf.bytes, plan_bytes());
    plan_shelf_fini(&shelf);
    plan_shelf_fini(&(struct plan_shelf){ 0 });
}

Test(plan_shelf, drops_what_the_ledger_has_overruled)
{
    struct plan_shelf shelf;
    init(&shelf, 0);
    for (uint64_t step = 0; step < LEAST; step++)
        put(&shelf, step);
    plan_shelf_drop_from(&shelf, 1);
    cr_assert(plan_shelf_has(&shelf, 0));
    cr_assert_eq(shelf.by_step.count, 1);
    cr_assert_eq(shelf.bytes, plan_bytes());
    plan_shelf_fini(&shelf);
}
