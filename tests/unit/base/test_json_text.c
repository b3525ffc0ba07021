#include "base/json_text.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "support/fault_sweep.h"

static char *write(void)
{
    json_t *object = json_object(), *array = json_array();
    for (int i = 0; i < 20; i++)
        json_push(array, json_pack("{s:i, s:s}", "number", i, "name", "a name of some length"));
    json_put(object, "all", array);
    json_put(object, "count", json_integer(20));
    return json_text(object, JSON_COMPACT);
}

Test(json_text, is_what_jansson_writes)
{
    char *text = write();
    json_t *value = json_loads(text, 0, NULL);
    char *again = json_dumps(value, JSON_COMPACT);
    cr_assert_str_eq(text, again);
    json_decref(value);
    free(again);
    free(text);
}

Test(json_text, of_nothing_is_nothing)
{
    cr_assert_null(json_text(NULL, 0));
}

Test(json_text, a_member_that_is_missing_is_told_once)
{
    json_t *object = json_object();
    json_put(object, "gone", NULL);
    cr_assert_null(json_text(object, 0));
    char *text = json_text(json_object(), 0);
    cr_assert_str_eq(text, "{}");
    free(text);
}

Test(json_text, is_whole_or_nothing)
{
    if (!fault_sweep_possible())
        cr_skip_test("the fault shim is not preloaded");
    char *expected = write();
    bool hit = true;
    for (unsigned long long at = 1; hit; at++) {
        fault_sweep_arm(at);
        char *text = write();
        hit = fault_sweep_disarm();
        cr_assert_eq(text == NULL, hit, "allocation %llu", at);
        if (text)
            cr_assert_str_eq(text, expected);
        free(text);
    }
    free(expected);
}
