/* A key file of any bytes: a key of its kind and nothing else, or one line that shows none. */
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "fuzz/fuzz.h"
#include "wire/key.h"

static void read_as(enum wire_key_kind kind, const char *text, size_t bytes)
{
    char key[WIRE_KEY_BYTES], why[WIRE_KEY_WHY_BYTES] = "";
    int status = wire_key_parse("fuzz", text, bytes, kind, key, why, sizeof why);
    if (status == 0 && !wire_key_valid(key, strlen(key)))
        abort();
    if (status != 0 && (status != EX_CONFIG || why[0] == '\0' || strpbrk(why, "\r\n\x1b")))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    read_as(WIRE_KEY_PUBLIC, (const char *)bytes, count);
    read_as(WIRE_KEY_SECRET, (const char *)bytes, count);
    return 0;
}
