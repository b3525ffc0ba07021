#include <criterion/criterion.h>
#include <string.h>

#include "wire/text.h"

static bool valid(const char *text)
{
    return wire_text_valid(text, strlen(text));
}

Test(text, utf8_of_every_length_is_valid)
{
    static const char *const good[] = {
        "",
        "a",
        " ~",
        "\xc2\xa0",
        "\xdf\xbf",
        "\xe0\xa0\x80",
        "\xed\x9f\xbf",
        "\xee\x80\x80",
        "\xef\xbf\xbf",
        "\xf0\x90\x80\x80",
        "\xf4\x8f\xbf\xbf",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        cr_expect(valid(good[i]), "%zu", i);
}

Test(text, everything_else_is_not)
{
    static const char *const bad[] = {
        "\x80",
        "\xbf",
        "\xc0\x80",
        "\xc1\xbf",
        "\xc2",
        "\xc2 ",
        "\xe0\x80\x80",
        "\xe0\x9f\xbf",
        "\xed\xa0\x80",
        "\xed\xbf\xbf",
        "\xe2\x82",
        "\xe2\x28\xa1",
        "\xf0\x80\x80\x80",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xff",
        "\xfe",
        "a\xf0\x9f\x9a",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_not(valid(bad[i]), "%zu", i);
}

Test(text, control_characters_are_refused)
{
    for (unsigned c = 0; c < 0x20; c++)
        cr_expect_not(wire_text_valid(&(char){ (char)c }, 1), "%u", c);
    cr_expect_not(valid("\x7f"));
    cr_expect_not(valid("\xc2\x80"));
    cr_expect_not(valid("\xc2\x9f"));
    cr_expect_not(wire_text_valid("a\0b", 3));
}

Test(text, clean_leaves_good_text_alone)
{
    char text[] = "/data/\xc3\xbc.bin: shorter than its index";
    char copy[sizeof text];
    memcpy(copy, text, sizeof text);
    wire_text_clean(text, sizeof text - 1);
    cr_expect_str_eq(text, copy);
}

Test(text, clean_replaces_what_may_not_stand_there)
{
    char text[] = "a\nb\xfc"
                  "c\x1b[m\xc2\x9b!";
    wire_text_clean(text, 100);
    cr_expect_str_eq(text, "a?b?c?[m\?\?!");
    cr_expect(valid(text));
}

Test(text, clean_cuts_between_characters)
{
    char text[] = "ab\xe6\x95\xb0";
    wire_text_clean(text, 5);
    cr_expect_str_eq(text, "ab\xe6\x95\xb0");
    wire_text_clean(text, 4);
    cr_expect_str_eq(text, "ab");
    wire_text_clean(text, 0);
    cr_expect_str_eq(text, "");
}

Test(text, clean_accepts_null)
{
    wire_text_clean(NULL, 10);
}

Test(text, property_cleaned_text_is_valid_and_short)
{
    unsigned state = 1;
    for (unsigned round = 0; round < 20000; round++) {
        char text[24];
        for (size_t i = 0; i + 1 < sizeof text; i++) {
            state = state * 1664525u + 1013904223u;
            text[i] = (char)(state >> 24);
        }
        text[sizeof text - 1] = 0;
        size_t limit = round % sizeof text;
        wire_text_clean(text, limit);
        cr_assert(valid(text));
        cr_assert_leq(strlen(text), limit);
    }
}
