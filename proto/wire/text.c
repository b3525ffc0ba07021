#include "wire/text.h"

#include <stdint.h>
#include <string.h>

/* Trailing bytes after `lead`, 0 for ASCII; negative when no character begins like that. */
static int trailing_bytes(unsigned char lead)
{
    if (lead < 0x80)
        return 0;
    if (lead < 0xc2)
        return -1; /* a trailing byte, or an overlong form */
    if (lead < 0xe0)
        return 1;
    if (lead < 0xf0)
        return 2;
    return lead < 0xf5 ? 3 : -1;
}

static bool code_point_allowed(uint32_t point, int trailing)
{
    static const uint32_t least[] = { 0x20, 0xa0, 0x800, 0x10000 };
    return point >= least[trailing] && point != 0x7f && !(point >= 0xd800 && point < 0xe000) &&
           point < 0x110000;
}

/* Bytes of the allowed character at `text`, or 0. */
static size_t character_bytes(const unsigned char *text, size_t bytes)
{
    int trailing = trailing_bytes(text[0]);
    if (trailing < 0 || (size_t)trailing >= bytes)
        return 0;
    uint32_t point = trailing ? text[0] & (0x3fu >> trailing) : text[0];
    for (int i = 1; i <= trailing; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (text[i] & 0x3fu);
    }
    return code_point_allowed(point, trailing) ? (size_t)trailing + 1 : 0;
}

bool wire_text_valid(const void *text, size_t bytes)
{
    const unsigned char *at = text;
    while (bytes > 0) {
        size_t used = character_bytes(at, bytes);
        if (!used)
            return false;
        at += used;
        bytes -= used;
    }
    return true;
}

void wire_text_clean(char *text, size_t max_bytes)
{
    if (!text)
        return;
    unsigned char *bytes = (unsigned char *)text;
    size_t length = strlen(text), at = 0;
    while (at < length) {
        size_t used = character_bytes(bytes + at, length - at);
        if (at + (used ? used : 1) > max_bytes)
            break;
        if (!used) {
            bytes[at] = '?';
            used = 1;
        }
        at += used;
    }
    bytes[at] = 0;
}
