#include "ctl/json_line.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* Copies `text`, every byte outside ASCII replaced; the rare path, for names that are no UTF-8. */
static json_t *replace_bytes(const char *text)
{
    size_t count = strlen(text);
    char *copy = malloc(count * (sizeof REPLACEMENT - 1) + 1);
    if (!copy)
        return NULL;
    char *end = copy;
    for (; *text; text++) {
        if ((unsigned char)*text < 0x80)
            *end++ = *text;
        else
            end = stpcpy(end, REPLACEMENT);
    }
    *end = '\0';
    json_t *value = json_string(copy);
    free(copy);
    return value;
}

json_t *json_bytes(const char *text)
{
    json_t *value = json_string(text);
    return value ? value : replace_bytes(text);
}

int json_line(struct output *out, json_t *value, struct error *err)
{
    char *text = json_text(value, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (!text)
        return error_memory(err, "printing JSON");
    output_print(out, "%s\n", text);
    free(text);
    return output_flush(out, err);
}
