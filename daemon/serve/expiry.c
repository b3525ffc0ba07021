#include "serve/expiry.h"

#include <string.h>
#include <time.h>

#define SECONDS_OF_DAY 86400

/* Does `text` look like `pattern`, where 9 stands for any digit? */
static bool looks_like(const char *text, const char *pattern)
{
    for (; *pattern; text++, pattern++) {
        bool digit = *text >= '0' && *text <= '9';
        if (*pattern == '9' ? !digit : *text != *pattern)
            return false;
    }
    return true;
}

static int number(const char *text, int digits)
{
    int value = 0;
    for (int i = 0; i < digits; i++)
        value = value * 10 + (text[i] - '0');
    return value;
}

/* timegm moves 31 June to 1 July: such a date is none. */
static bool seconds_of(struct tm date, int64_t *ret_seconds)
{
    struct tm moved = date;
    time_t seconds = timegm(&moved);
    if (date.tm_year < 70 || moved.tm_year != date.tm_year || moved.tm_mon != date.tm_mon ||
        moved.tm_mday != date.tm_mday || moved.tm_hour != date.tm_hour ||
        moved.tm_min != date.tm_min || moved.tm_sec != date.tm_sec)
        return false;
    *ret_seconds = seconds;
    return true;
}

bool expiry_parse(const char *text, size_t bytes, int64_t *ret_last_second)
{
    static const char day[] = "9999-99-99", second[] = "9999-99-99T99:99:99Z";
    bool whole_day = bytes == sizeof day - 1 && looks_like(text, day);
    if (!whole_day && !(bytes == sizeof second - 1 && looks_like(text, second)))
        return false;
    struct tm date = { .tm_year = number(text, 4) - 1900,
                       .tm_mon = number(text + 5, 2) - 1,
                       .tm_mday = number(text + 8, 2) };
    if (!whole_day) {
        date.tm_hour = number(text + 11, 2);
        date.tm_min = number(text + 14, 2);
        date.tm_sec = number(text + 17, 2);
    }
    int64_t seconds;
    if (!seconds_of(date, &seconds))
        return false;
    *ret_last_second = whole_day ? seconds + SECONDS_OF_DAY - 1 : seconds;
    return true;
}
