#include "expand.h"

#include <string.h>

/* memcpy of one token is a plain load: the compiler sees through it, and alignment cannot fault. */
static inline uint16_t load_u16(const unsigned char *from)
{
    uint16_t token;
    memcpy(&token, from, sizeof token);
    return token;
}

static inline uint32_t load_u32(const unsigned char *from)
{
    uint32_t token;
    memcpy(&token, from, sizeof token);
    return token;
}

static uint32_t largest_u16(const unsigned char *from, size_t count)
{
    uint16_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        uint16_t token = load_u16(from + 2 * i);
        largest = token > largest ? token : largest;
    }
    return largest;
}

static uint32_t largest_u32(const unsigned char *from, size_t count)
{
    uint32_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t token = load_u32(from + 4 * i);
        largest = token > largest ? token : largest;
    }
    return largest;
}

uint32_t expand_largest(const unsigned char *from, size_t count, uint32_t token_bytes)
{
    return token_bytes == 2 ? largest_u16(from, count) : largest_u32(from, count);
}

static void widen_u16(const unsigned char *from, size_t count, int32_t *restrict to)
{
    for (size_t i = 0; i < count; i++)
        to[i] = load_u16(from + 2 * i);
}

void expand_chunk(const unsigned char *from, size_t count, uint32_t token_bytes,
                  int32_t *restrict tokens, int32_t *restrict labels)
{
    if (token_bytes == 2) {
        widen_u16(from, count, tokens);
        widen_u16(from + 2, count, labels);
        return;
    }
    memcpy(tokens, from, 4 * count);
    memcpy(labels, from + 4, 4 * count);
}

void expand_positions(int32_t *positions, size_t count, uint32_t first)
{
    for (size_t i = 0; i < count; i++)
        positions[i] = (int32_t)(first + (uint32_t)i);
}

void expand_fill(int32_t *to, size_t count, int32_t value)
{
    for (size_t i = 0; i < count; i++)
        to[i] = value;
}
