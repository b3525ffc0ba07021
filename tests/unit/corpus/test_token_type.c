/* Loops over stored tokens, at every alignment and width. */
#include <criterion/criterion.h>
#include <string.h>

#include "corpus/token_type.h"

static const enum token_type types[] = { TOKEN_U8,  TOKEN_I8,  TOKEN_U16,
                                         TOKEN_I16, TOKEN_I32, TOKEN_I64 };
enum { TYPES = 6, COUNT = 300 };

static void fill(unsigned char *tokens, unsigned bytes, int64_t id)
{
    for (size_t i = 0; i < COUNT; i++)
        memcpy(tokens + i * bytes, &id, bytes);
}

Test(token_type, a_bad_id_is_found_wherever_it_is)
{
    unsigned char memory[COUNT * 8 + 1];
    unsigned char *tokens = memory + 1; /* never aligned */
    for (size_t t = 0; t < TYPES; t++) {
        unsigned bytes = token_type_bytes(types[t]);
        fill(tokens, bytes, 99);
        cr_expect_eq(tokens_find_bad(types[t], tokens, COUNT, 100), COUNT);
        cr_expect_eq(tokens_find_bad(types[t], tokens, COUNT, 99), 0);
        cr_expect_eq(tokens_find_bad(types[t], tokens, 0, 1), 0);
        for (size_t at = 0; at < COUNT; at += 7) {
            fill(tokens, bytes, 99);
            int64_t bad = 100;
            memcpy(tokens + at * bytes, &bad, bytes);
            cr_expect_eq(tokens_find_bad(types[t], tokens, COUNT, 100), at);
        }
    }
}

Test(token_type, limits_end_at_the_sign)
{
    cr_expect_eq(token_limit(TOKEN_I8, 50257), 128);
    cr_expect_eq(token_limit(TOKEN_I16, 50257), 32768);
    cr_expect_eq(token_limit(TOKEN_I16, 100), 100);
    cr_expect_eq(token_limit(TOKEN_I32, 0), UINT64_C(1) << 31);
    cr_expect_eq(token_limit(TOKEN_I64, 0), UINT64_C(1) << 32);
    cr_expect_eq(token_limit(TOKEN_U16, 50257), 50257);
    cr_expect_eq(token_limit(TOKEN_U8, 0), UINT64_C(1) << 32);
}

Test(token_type, values_have_their_sign)
{
    unsigned char ones[8];
    memset(ones, 0xff, sizeof ones);
    cr_expect_eq(token_value(TOKEN_U8, ones), 255);
    cr_expect_eq(token_value(TOKEN_U16, ones), 65535);
    cr_expect_eq(token_value(TOKEN_I8, ones), -1);
    cr_expect_eq(token_value(TOKEN_I16, ones), -1);
    cr_expect_eq(token_value(TOKEN_I32, ones), -1);
    cr_expect_eq(token_value(TOKEN_I64, ones), -1);
    const int32_t lowest = INT32_MIN;
    cr_expect_eq(token_value(TOKEN_I32, &lowest), INT32_MIN);
}

Test(token_type, every_width_becomes_every_width)
{
    unsigned char from[COUNT * 8 + 1], to[COUNT * 4 + 1];
    for (size_t t = 0; t < TYPES; t++) {
        unsigned bytes = token_type_bytes(types[t]);
        for (size_t i = 0; i < COUNT; i++) {
            int64_t id = (int64_t)(i % 128);
            memcpy(from + 1 + i * bytes, &id, bytes);
        }
        for (unsigned out_bytes = 2; out_bytes <= 4; out_bytes += 2) {
            memset(to, 0xee, sizeof to);
            tokens_convert(types[t], from + 1, COUNT, out_bytes, to + 1);
            for (size_t i = 0; i < COUNT; i++) {
                uint32_t id = 0;
                memcpy(&id, to + 1 + i * out_bytes, out_bytes);
                cr_assert_eq(id, i % 128, "%s to %u bytes", token_type_name(types[t]), out_bytes);
            }
        }
    }
}
