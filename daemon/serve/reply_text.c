#include "serve/reply_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static bool continues(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

/* Bytes of the well-formed character at `at`, 0 when there is none or it controls something. */
static size_t character_bytes(const unsigned char *at)
{
    if (at[0] < 0x80)
        return at[0] < 0x20 || at[0] == 0x7f ? 0 : 1;
    if (at[0] >= 0xc2 && at[0] < 0xe0) {
        bool control = at[0] == 0xc2 && at[1] < 0xa0;
        return !control && continues(at[1]) ? 2 : 0;
    }
    if (at[0] >= 0xe0 && at[0] < 0xf0) {
        bool overlong = at[0] == 0xe0 && at[1] < 0xa0;
        bool surrogate = at[0] == 0xed && at[1] >= 0xa0;
        return !overlong && !surrogate && continues(at[1]) && continues(at[2]) ? 3 : 0;
    }
    if (at[0] >= 0xf0 && at[0] < 0xf5) {
        bool overlong = at[0] == 0xf0 && at[1] < 0x90;
        bool beyond = at[0] == 0xf4 && at[1] >= 0x90;
        bool whole = continues(at[1]) && continues(at[2]) && continues(at[3]);
        return !overlong && !beyond && whole ? 4 : 0;
    }
    return 0;
}

char *reply_text(char text[WIRE_MAX_MESSAGE_BYTES + 1], const char *from)
{
    const unsigned char *at = (const unsigned char *)from;
    size_t used = 0;
    while (*at) {
        size_t bytes = character_bytes(at);
        if (used + (bytes ? bytes : 1) > WIRE_MAX_MESSAGE_BYTES)
            break;
        if (bytes) {
            memcpy(text + used, at, bytes);
            used += bytes;
            at += bytes;
        } else {
            text[used++] = '?';
            at++;
        }
    }
    text[used] = '\0';
    return text;
}
