/* Texts in headers: never longer than the limit, always UTF-8. */
#include <criterion/criterion.h>
#include <string.h>

#include "serve/reply_text.h"

static void expect(const char *from, const char *expected)
{
    char text[WIRE_MAX_MESSAGE_BYTES + 1];
    cr_assert_str_eq(reply_text(text, from), expected);
}

Test(reply_text, keeps_what_is_well_formed)
{
    expect("", "");
    expect("shard /a/b.idx", "shard /a/b.idx");
    expect("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
}

Test(reply_text, replaces_what_is_not)
{
    expect("a\x80z", "a?z");
    expect("\xc3", "?");
    expect("\xc0\xaf", "??");           /* overlong */
    expect("\xed\xa0\x80", "???");      /* surrogate */
    expect("\xf4\x90\x80\x80", "????"); /* beyond Unicode */
    expect("\xf0\x9f\x98", "???");
    expect("a\tb\x7f\x1b[2J", "a?b??[2J");
    expect("\xc2\x9b", "??"); /* a control character of two bytes */
}

Test(reply_text, is_cut_at_the_edge_of_a_character)
{
    char from[2000], text[WIRE_MAX_MESSAGE_BYTES + 1];
    memset(from, 'a', sizeof from);
    memcpy(from + WIRE_MAX_MESSAGE_BYTES - 1, "\xe2\x82\xac", 3);
    from[sizeof from - 1] = '\0';
    cr_assert_eq(strlen(reply_text(text, from)), WIRE_MAX_MESSAGE_BYTES - 1);
    from[WIRE_MAX_MESSAGE_BYTES - 1] = 'a';
    from[WIRE_MAX_MESSAGE_BYTES] = from[WIRE_MAX_MESSAGE_BYTES + 1] = 'a';
    cr_assert_eq(strlen(reply_text(text, from)), WIRE_MAX_MESSAGE_BYTES);
}
