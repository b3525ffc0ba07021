#include <criterion/criterion.h>

#include "ctl/suggest.h"

static const char *nearest(const char *typed)
{
    static const char *const words[] = { "import", "verify",   "plan",  "fetch",
                                         "status", "queues",   "ranks", "sources",
                                         "step",   "snapshot", "drain" };
    struct suggestion suggestion;
    suggestion_init(&suggestion, typed);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        suggestion_offer(&suggestion, words[i]);
    return suggestion.best ? suggestion.best : "";
}

Test(suggest, distances)
{
    cr_assert_eq(edit_distance("", ""), 0);
    cr_assert_eq(edit_distance("plan", "plan"), 0);
    cr_assert_eq(edit_distance("plna", "plan"), 1, "a swap is one slip");
    cr_assert_eq(edit_distance("pan", "plan"), 1);
    cr_assert_eq(edit_distance("planx", "plan"), 1);
    cr_assert_eq(edit_distance("kitten", "sitting"), 3);
    cr_assert_eq(edit_distance("", "plan"), 4);
}

Test(suggest, finds_the_word_that_was_meant)
{
    cr_assert_str_eq(nearest("plna"), "plan");
    cr_assert_str_eq(nearest("stauts"), "status");
    cr_assert_str_eq(nearest("verfy"), "verify");
    cr_assert_str_eq(nearest("source"), "sources");
    cr_assert_str_eq(nearest("ver"), "verify", "a beginning is enough");
}

Test(suggest, keeps_silent_where_nothing_is_near)
{
    cr_assert_str_eq(nearest("frobnicate"), "");
    cr_assert_str_eq(nearest("x"), "");
    cr_assert_str_eq(nearest(""), "");
    cr_assert_str_eq(nearest("a-word-that-is-longer-than-any-command-could-be"), "");
}
