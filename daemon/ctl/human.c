#include "ctl/human.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *human_count(uint64_t count, char text[HUMAN_BYTES])
{
    char digits[HUMAN_BYTES];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, count);
    char *end = text;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            *end++ = ',';
        *end++ = digits[i];
    }
    *end = '\0';
    return text;
}

const char *human_bytes(uint64_t bytes, char text[HUMAN_BYTES])
{
    static const char units[][4] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    if (bytes < 1024) {
        snprintf(text, HUMAN_BYTES, "%" PRIu64 " B", bytes);
        return text;
    }
    double value = (double)bytes / 1024;
    size_t unit = 0;
    /* 1023.95 would print as 1024.0. */
    while (value >= 1023.95 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1024;
        unit++;
    }
    snprintf(text, HUMAN_BYTES, "%.1f %s", value, units[unit]);
    return text;
}

const char *human_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

const char *human_duration(uint64_t milliseconds, char text[HUMAN_BYTES])
{
    uint64_t seconds = milliseconds / 1000, minutes = seconds / 60, hours = minutes / 60;
    if (milliseconds < 1000)
        snprintf(text, HUMAN_BYTES, "%" PRIu64 " ms", milliseconds);
    else if (seconds < 60)
        snprintf(text, HUMAN_BYTES, "%" PRIu64 " s", seconds);
    else if (minutes < 60)
        snprintf(text, HUMAN_BYTES, "%" PRIu64 " min %" PRIu64 " s", minutes, seconds % 60);
    else if (hours < 24)
        snprintf(text, HUMAN_BYTES, "%" PRIu64 " h %" PRIu64 " min", hours, minutes % 60);
    else
        snprintf(text, HUMAN_BYTES, "%" PRIu64 " d %" PRIu64 " h", hours / 24, hours % 24);
    return text;
}
