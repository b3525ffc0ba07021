#include "serve/whole_steps.h"

#include <criterion/criterion.h>

static struct whole_steps whole;

static void forget(void)
{
    whole_steps_fini(&whole);
}

TestSuite(whole_steps, .fini = forget);

Test(whole_steps, a_step_is_whole_when_every_share_was_seen)
{
    cr_assert_not(whole_steps_has(&whole, 7));
    whole_steps_add(&whole, 7, 0, 3);
    whole_steps_add(&whole, 7, 2, 3);
    whole_steps_add(&whole, 7, 2, 3);
    cr_assert_not(whole_steps_has(&whole, 7), "one share twice is one share");
    cr_assert(whole_steps_saw(&whole, 7, 2));
    cr_assert_not(whole_steps_saw(&whole, 7, 1));
    cr_assert_not(whole_steps_saw(&whole, 8, 2));
    whole_steps_add(&whole, 7, 1, 3);
    cr_assert(whole_steps_has(&whole, 7));
}

Test(whole_steps, what_is_planned_anew_must_be_seen_anew)
{
    for (uint64_t step = 5; step < 8; step++)
        whole_steps_add(&whole, step, 0, 1);
    whole_steps_drop_from(&whole, 6);
    cr_assert(whole_steps_has(&whole, 5));
    cr_assert_not(whole_steps_has(&whole, 6));
    cr_assert_not(whole_steps_has(&whole, 7));
    whole_steps_add(&whole, 6, 0, 2);
    cr_assert_not(whole_steps_has(&whole, 6), "it may have more shares now");
}

Test(whole_steps, the_latest_are_known)
{
    for (uint64_t step = 0; step <= WHOLE_STEPS_KNOWN; step++)
        whole_steps_add(&whole, step, 0, 1);
    cr_assert_not(whole_steps_has(&whole, 0));
    cr_assert(whole_steps_has(&whole, 1));
    cr_assert(whole_steps_has(&whole, WHOLE_STEPS_KNOWN));
}
