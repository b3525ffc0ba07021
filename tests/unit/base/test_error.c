#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"

Test(error, returns_code_and_text)
{
    struct error err = { 0 };
    cr_assert_eq(error_set(&err, EX_DATAERR, "shard %s: found %d", "a.idx", 3), EX_DATAERR);
    cr_assert_eq(err.code, EX_DATAERR);
    cr_assert_str_eq(err.text, "shard a.idx: found 3");
}

Test(error, null_is_accepted)
{
    cr_assert_eq(error_set(NULL, EX_USAGE, "nobody listens"), EX_USAGE);
    cr_assert_eq(error_memory(NULL, "testing"), EX_OSERR);
    cr_assert_eq(error_prefix(NULL, "who"), EX_SOFTWARE);
}

Test(error, long_text_is_cut_not_overrun)
{
    char text[2 * ERROR_TEXT_BYTES];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    struct error err = { 0 };
    error_set(&err, EX_OSERR, "%s", text);
    cr_assert_eq(strlen(err.text), ERROR_TEXT_BYTES - 1);
    error_prefix(&err, "%s", text);
    cr_assert_eq(strlen(err.text), ERROR_TEXT_BYTES - 1);
}

Test(error, prefix_keeps_code_and_text)
{
    struct error err = { 0 };
    error_set(&err, EX_IOERR, "cannot read");
    cr_assert_eq(error_prefix(&err, "source %s", "web"), EX_IOERR);
    cr_assert_str_eq(err.text, "source web: cannot read");
}
