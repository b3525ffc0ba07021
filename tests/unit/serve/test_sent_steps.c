#include "serve/sent_steps.h"

#include <criterion/criterion.h>

Test(sent_steps, know_those_sent_and_all_before_the_beginning)
{
    struct sent_steps sent = sent_steps_begin(100);
    cr_assert(sent_steps_has(&sent, 99));
    cr_assert_not(sent_steps_has(&sent, 100));
    sent_steps_add(&sent, 102);
    sent_steps_add(&sent, 50);
    cr_assert(sent_steps_has(&sent, 102));
    cr_assert_not(sent_steps_has(&sent, 101), "fetched ahead: a hole before it");
    cr_assert_not(sent_steps_has(&sent, 103));
    cr_assert_not(sent_steps_has(&sent, UINT64_MAX));
}

Test(sent_steps, those_far_behind_count_as_sent)
{
    struct sent_steps sent = { 0 };
    sent_steps_add(&sent, 63);
    cr_assert_not(sent_steps_has(&sent, 0));
    sent_steps_add(&sent, 64);
    cr_assert(sent_steps_has(&sent, 0));
    cr_assert_not(sent_steps_has(&sent, 1));
    cr_assert(sent_steps_has(&sent, 63));
    sent_steps_add(&sent, 1000);
    cr_assert(sent_steps_has(&sent, 936));
    cr_assert_not(sent_steps_has(&sent, 937));
    cr_assert(sent_steps_has(&sent, 1000));
    sent_steps_add(&sent, UINT64_MAX);
    cr_assert(sent_steps_has(&sent, UINT64_MAX));
    cr_assert_not(sent_steps_has(&sent, UINT64_MAX - 1));
}

Test(sent_steps, what_is_void_was_not_sent)
{
    struct sent_steps sent = sent_steps_begin(10);
    sent_steps_add(&sent, 10);
    sent_steps_add(&sent, 12);
    sent_steps_add(&sent, 13);
    sent_steps_cut(&sent, 11);
    cr_assert(sent_steps_has(&sent, 10));
    cr_assert_not(sent_steps_has(&sent, 12));
    cr_assert_not(sent_steps_has(&sent, 13));
    sent_steps_cut(&sent, 200);
    cr_assert(sent_steps_has(&sent, 10));
}

Test(sent_steps, a_look_back_gives_up_nothing_else)
{
    struct sent_steps sent = sent_steps_begin(10);
    sent_steps_add(&sent, 10);
    sent_steps_add(&sent, 12);
    sent_steps_back(&sent, 7);
    cr_assert(sent_steps_has(&sent, 6));
    cr_assert_not(sent_steps_has(&sent, 7));
    sent_steps_add(&sent, 7);
    sent_steps_ask(&sent, 12);
    sent_steps_ask(&sent, 100);
    for (uint64_t step = 8; step <= 12; step++)
        cr_assert(sent_steps_has(&sent, step));
    cr_assert_not(sent_steps_has(&sent, 13));
    sent_steps_cut(&sent, 12);
    cr_assert(sent_steps_has(&sent, 12), "it may be the trainer's");
    sent_steps_back(&sent, 3);
    cr_assert(sent_steps_has(&sent, 12));
}

Test(sent_steps, whoever_goes_back_gives_up_what_it_asks_for_anew)
{
    struct sent_steps sent = sent_steps_begin(100);
    sent_steps_add(&sent, 100);
    sent_steps_back(&sent, 20);
    sent_steps_ask(&sent, 22);
    cr_assert(sent_steps_has(&sent, 21));
    sent_steps_ask(&sent, 21);
    cr_assert_not(sent_steps_has(&sent, 21));
    cr_assert_not(sent_steps_has(&sent, 22));
    cr_assert(sent_steps_has(&sent, 23));
    sent_steps_cut(&sent, 21);
    cr_assert_not(sent_steps_has(&sent, 23), "later than what is void");
    sent = sent_steps_begin(UINT64_MAX);
    sent_steps_add(&sent, UINT64_MAX);
    sent_steps_back(&sent, 0);
    cr_assert(sent_steps_has(&sent, UINT64_MAX - 1));
}
