#include "corpus/token_type.h"

#include <stdbool.h>
#include <string.h>

static const struct {
    const char *name;
    unsigned bytes;
    bool is_signed;
} types[] = {
    [TOKEN_U8] = { "u8", 1, false },   [TOKEN_I8] = { "i8", 1, true },
    [TOKEN_U16] = { "u16", 2, false }, [TOKEN_I16] = { "i16", 2, true },
    [TOKEN_I32] = { "i32", 4, true },  [TOKEN_I64] = { "i64", 8, true },
};

unsigned token_type_bytes(enum token_type type)
{
    return types[type].bytes;
}

const char *token_type_name(enum token_type type)
{
    return types[type].name;
}

uint64_t token_limit(enum token_type type, uint32_t vocab_size)
{
    uint64_t limit = vocab_size ? vocab_size : UINT64_C(1) << 32;
    uint64_t sign = UINT64_C(1) << (types[type].bytes * 8 - 1);
    return types[type].is_signed && sign < limit ? sign : limit;
}

int64_t token_value(enum token_type type, const void *token)
{
    int64_t value = 0;
    memcpy(&value, token, types[type].bytes);
    unsigned unused = 64 - types[type].bytes * 8;
    if (!types[type].is_signed || unused == 0)
        return value;
    uint64_t sign = UINT64_C(1) << (63 - unused);
    return (int64_t)(((uint64_t)value ^ sign) - sign);
}

/* The loops below are plain so that the compiler turns them into vector code. */

static uint64_t max_u8(const unsigned char *tokens, size_t count)
{
    uint8_t max = 0;
    for (size_t i = 0; i < count; i++)
        max = tokens[i] > max ? tokens[i] : max;
    return max;
}

static uint64_t max_u16(const unsigned char *tokens, size_t count)
{
    uint16_t max = 0;
    for (size_t i = 0; i < count; i++) {
        uint16_t value;
        memcpy(&value, tokens + i * sizeof value, sizeof value);
        max = value > max ? value : max;
    }
    return max;
}

static uint64_t max_u32(const unsigned char *tokens, size_t count)
{
    uint32_t max = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t value;
        memcpy(&value, tokens + i * sizeof value, sizeof value);
        max = value > max ? value : max;
    }
    return max;
}

static uint64_t max_u64(const unsigned char *tokens, size_t count)
{
    uint64_t max = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t value;
        memcpy(&value, tokens + i * sizeof value, sizeof value);
        max = value > max ? value : max;
    }
    return max;
}

static uint64_t max_token(unsigned bytes, const unsigned char *tokens, size_t count)
{
    switch (bytes) {
    case 1:
        return max_u8(tokens, count);
    case 2:
        return max_u16(tokens, count);
    case 4:
        return max_u32(tokens, count);
    default:
        return max_u64(tokens, count);
    }
}

size_t tokens_find_bad(enum token_type type, const void *tokens, size_t count, uint64_t limit)
{
    unsigned bytes = types[type].bytes;
    const unsigned char *from = tokens;
    bool nothing_to_find = bytes < 8 && limit >> (bytes * 8) != 0;
    if (nothing_to_find || max_token(bytes, from, count) < limit)
        return count;
    size_t i = 0;
    while (max_token(bytes, from + i * bytes, 1) < limit)
        i++;
    return i;
}

static inline uint64_t load(const unsigned char *from, unsigned bytes)
{
    uint64_t value = 0;
    memcpy(&value, from, bytes);
    return value;
}

/* Inlined with constant widths, one loop for each pair. */
static inline void convert(const unsigned char *from, unsigned from_bytes, size_t count,
                           unsigned char *to, unsigned to_bytes)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t value = load(from + i * from_bytes, from_bytes);
        memcpy(to + i * to_bytes, &value, to_bytes);
    }
}

static void convert_to_u16(const unsigned char *from, unsigned bytes, size_t count,
                           unsigned char *to)
{
    switch (bytes) {
    case 1:
        convert(from, 1, count, to, 2);
        break;
    case 4:
        convert(from, 4, count, to, 2);
        break;
    default:
        convert(from, 8, count, to, 2);
        break;
    }
}

static void convert_to_u32(const unsigned char *from, unsigned bytes, size_t count,
                           unsigned char *to)
{
    switch (bytes) {
    case 1:
        convert(from, 1, count, to, 4);
        break;
    case 2:
        convert(from, 2, count, to, 4);
        break;
    default:
        convert(from, 8, count, to, 4);
        break;
    }
}

void tokens_convert(enum token_type type, const void *tokens, size_t count, unsigned out_bytes,
                    void *out)
{
    unsigned bytes = types[type].bytes;
    if (bytes == out_bytes)
        memcpy(out, tokens, count * bytes);
    else if (out_bytes == 2)
        convert_to_u16(tokens, bytes, count, out);
    else
        convert_to_u32(tokens, bytes, count, out);
}
