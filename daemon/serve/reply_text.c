#include "serve/reply_text.h"

#include <stdio.h>
#include <string.h>

#include "wire/text.h"

/* Bytes of a character that begins within the limit and ends beyond it. */
#define OVER_THE_EDGE 3

char *reply_text(char text[WIRE_MAX_MESSAGE_BYTES + 1], const char *from)
{
    char whole[WIRE_MAX_MESSAGE_BYTES + OVER_THE_EDGE + 1];
    snprintf(whole, sizeof whole, "%s", from);
    wire_text_clean(whole, WIRE_MAX_MESSAGE_BYTES);
    memcpy(text, whole, strlen(whole) + 1);
    return text;
}
