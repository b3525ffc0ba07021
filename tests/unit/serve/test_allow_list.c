/* The list of client keys: what is read of it, and every fault. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "serve/allow_list.h"
#include "serve/expiry.h"
#include "support/temp_dir.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define HASH "0000#0000#0000#0000#0000#0000#0000#0000#"

static int parse(const char *text, struct allow_list *list, struct error *err)
{
    *list = (struct allow_list){ 0 };
    *err = (struct error){ 0 };
    return allow_list_parse("clients", text, strlen(text), list, err);
}

Test(allow_list, reads_every_word)
{
    struct allow_list list;
    struct error err;
    cr_assert_eq(parse("# a list\n#\n\n" B " operator boss\r\n\t" A "\ttrainer  node-1_x.y "
                       "2027-01-31",
                       &list, &err),
                 0, "%s", err.text);
    cr_assert_eq(list.count, 2);
    const struct allowed_client *a = allow_list_find(&list, A), *b = allow_list_find(&list, B);
    cr_assert(a && b);
    cr_expect_eq(a->role, ROLE_TRAINER);
    cr_expect_str_eq(a->name, "node-1_x.y");
    cr_expect_eq(a->last_second, 1801439999, "the last second of that day");
    cr_expect_eq(a->line, 5);
    cr_expect_eq(b->role, ROLE_OPERATOR);
    cr_expect_str_eq(b->name, "boss");
    cr_expect_eq(b->last_second, INT64_MAX);
    cr_expect_null(allow_list_find(&list, HASH));
    cr_expect_null(allow_list_find(&list, ""));
    allow_list_fini(&list);
    cr_expect_null(allow_list_find(&list, A));
}

Test(allow_list, a_key_may_hold_hashes_and_names_may_recur)
{
    struct allow_list list;
    struct error err;
    cr_assert_eq(parse(HASH " trainer x\n" A " trainer x\n# " B " trainer y\n", &list, &err), 0);
    cr_expect_eq(list.count, 2);
    cr_expect_not_null(allow_list_find(&list, HASH));
    allow_list_fini(&list);
}

Test(allow_list, finds_each_of_many)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    for (unsigned i = 0; i < 2000; i++)
        fprintf(file, "%040u trainer n%u\n", i * 7919 % 2000, i);
    fclose(file);
    struct allow_list list;
    struct error err = { 0 };
    cr_assert_eq(allow_list_parse("clients", text, bytes, &list, &err), 0, "%s", err.text);
    for (unsigned i = 0; i < 2000; i++) {
        char key[WIRE_KEY_BYTES];
        snprintf(key, sizeof key, "%040u", i);
        cr_assert_not_null(allow_list_find(&list, key), "%s", key);
    }
    allow_list_fini(&list);
    free(text);
}

Test(allow_list, every_fault_names_its_line_and_what_was_expected)
{
    static const struct {
        const char *text, *error;
    } faults[] = {
        { "", "clients: found no client" },
        { "# " A " trainer x\n", "clients: found no client" },
        { A "\n", "clients:1: found 1 words, expected KEY trainer|operator NAME" },
        { A " trainer\n", "clients:1: found 2 words" },
        { A " trainer x 2027-01-31 more\n", "clients:1: found more than 4" },
        { A "0 trainer x\n", "clients:1: found 'aaaa" },
        { "short trainer x\n", "clients:1: found 'short', expected a public key" },
        { "\n#comment without a blank\n", "clients:2: found '#comment', expected a public key" },
        { A " Trainer x\n", "clients:1: found role 'Trainer', expected trainer or operator" },
        { A " trainer,operator x\n", "clients:1: found role 'trainer,operator'" },
        { A " trainer x/y\n", "clients:1: found name 'x/y', expected at most 63" },
        { A " trainer x\x1b[2J\n", "clients:1: found name 'x?[2J'" },
        { A " trainer x tomorrow\n", "clients:1: found expiry 'tomorrow', expected the last day" },
        { A " trainer x 2027-02-29\n", "clients:1: found expiry '2027-02-29'" },
        { A " trainer x\n" B " trainer y\n" A " operator z\n",
          "clients:3: the key of line 1 again" },
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct allow_list list;
        struct error err;
        cr_expect_eq(parse(faults[i].text, &list, &err), EX_CONFIG, "%s", faults[i].text);
        cr_expect_eq(strncmp(err.text, faults[i].error, strlen(faults[i].error)), 0,
                     "found %s\nexpected %s", err.text, faults[i].error);
        cr_expect_eq(list.count, 0, "left alone");
    }
}

Test(allow_list, a_name_has_at_most_63_bytes)
{
    struct allow_list list;
    struct error err;
    char text[256];
    snprintf(text, sizeof text, "%s trainer %063d\n", A, 1);
    cr_expect_eq(parse(text, &list, &err), 0, "%s", err.text);
    allow_list_fini(&list);
    snprintf(text, sizeof text, "%s trainer %064d\n", A, 1);
    cr_expect_eq(parse(text, &list, &err), EX_CONFIG);
}

Test(allow_list, bytes_that_are_no_text)
{
    static const char text[] = A " trainer x\0y\n";
    struct allow_list list = { 0 };
    struct error err = { 0 };
    cr_expect_eq(allow_list_parse("clients", text, sizeof text - 1, &list, &err), EX_CONFIG);
    static const char key[] = "aaaaaaaaaaaaaaaaaaaa\0aaaaaaaaaaaaaaaaaaa trainer x\n";
    cr_expect_eq(allow_list_parse("clients", key, sizeof key - 1, &list, &err), EX_CONFIG);
}

Test(allow_list, files)
{
    struct temp_dir dir = temp_dir_make();
    char path[TEMP_PATH_BYTES];
    struct allow_list list = { 0 };
    struct error err = { 0 };
    temp_path(&dir, "clients", path);
    cr_expect_eq(allow_list_load(path, &list, &err), EX_NOINPUT);
    file_write(path, A " trainer x\n", strlen(A " trainer x\n"));
    cr_assert_eq(chmod(path, 0640), 0);
    cr_expect_eq(allow_list_load(path, &list, &err), 0, "%s", err.text);
    cr_expect_eq(list.count, 1);
    allow_list_fini(&list);
    cr_assert_eq(chmod(path, 0646), 0);
    cr_expect_eq(allow_list_load(path, &list, &err), EX_CONFIG);
    cr_expect_not_null(strstr(err.text, "chmod o-w"), "%s", err.text);
    cr_expect_eq(allow_list_load(dir.path, &list, &err), EX_CONFIG);
    temp_dir_remove(&dir);
}

Test(expiry, days_and_seconds)
{
    static const struct {
        const char *text;
        int64_t last_second;
    } good[] = {
        { "1970-01-01", 86399 },
        { "1970-01-01T00:00:00Z", 0 },
        { "2000-02-29", 951868799 },
        { "2027-01-31T12:00:00Z", 1801396800 },
        { "9999-12-31", INT64_C(253402300799) },
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t found = -1;
        cr_expect(expiry_parse(good[i].text, strlen(good[i].text), &found), "%s", good[i].text);
        cr_expect_eq(found, good[i].last_second, "%s: %lld", good[i].text, (long long)found);
    }
}

Test(expiry, what_is_no_date)
{
    static const char *const bad[] = {
        "",           "2027",
        "2027-1-31",  "2027-13-01",
        "2027-00-10", "2027-01-00",
        "2027-01-32", "2027-02-29",
        "2100-02-29", "2027-06-31",
        "1969-12-31", "2027/01/31",
        "20270131",   "2027-01-31 ",
        "+027-01-31", "2027-01-31T12:00:00",
        "x",          "2027-01-31T24:00:00Z",
        "tomorrow",   "2027-01-31T12:60:00Z",
        "never",      "2027-01-31T12:00:60Z",
        "2027-01-3x", "2027-01-31t12:00:00z",
        "0000-00-00", "2027-01-31T12:00:00+01:00",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t found = -1;
        cr_expect_not(expiry_parse(bad[i], strlen(bad[i]), &found), "%s", bad[i]);
        cr_expect_eq(found, -1, "left alone");
    }
}
