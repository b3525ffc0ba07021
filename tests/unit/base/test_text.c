#include "base/text.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "support/fault_sweep.h"

#define LINES 2000

static void write_lines(FILE *file)
{
    for (int i = 0; i < LINES; i++)
        fprintf(file, "line %d\n", i);
}

static int write_all(char **ret_text, size_t *ret_bytes, struct error *err)
{
    struct text text;
    int failed = text_open(&text, "writing", err);
    if (failed)
        return failed;
    write_lines(text.file);
    return text_close(&text, "writing", ret_text, ret_bytes, err);
}

Test(text, holds_all_that_was_written)
{
    char *text = NULL;
    size_t bytes = 0;
    cr_assert_eq(write_all(&text, &bytes, NULL), 0);
    cr_assert_eq(strlen(text), bytes);
    char *at = text;
    for (int i = 0; i < LINES; i++)
        cr_assert_eq(strtol(at + strlen("line "), &at, 10), i);
    free(text);
}

Test(text, nothing_written_is_an_empty_text)
{
    struct text text;
    char *empty = NULL;
    cr_assert_eq(text_open(&text, "writing", NULL), 0);
    cr_assert_eq(text_close(&text, "writing", &empty, NULL, NULL), 0);
    cr_assert_str_eq(empty, "");
    free(empty);
}

Test(text, what_is_dropped_is_gone)
{
    struct text text;
    cr_assert_eq(text_open(&text, "writing", NULL), 0);
    write_lines(text.file);
    text_drop(&text);
}

Test(text, is_whole_or_an_error)
{
    if (!fault_sweep_possible())
        cr_skip_test("the fault shim is not preloaded");
    bool hit = true;
    for (unsigned long long at = 1; hit; at++) {
        struct error err = { 0 };
        char *text = NULL;
        size_t bytes = 0;
        fault_sweep_arm(at);
        int failed = write_all(&text, &bytes, &err);
        hit = fault_sweep_disarm();
        cr_assert_eq(failed, hit ? EX_OSERR : 0);
        cr_assert_eq(text == NULL, hit);
        if (hit)
            cr_assert_str_eq(err.text, "out of memory while writing");
        free(text);
    }
}
