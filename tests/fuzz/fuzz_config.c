/*
 * A configuration of any bytes. What is accepted must print, and what is printed must be accepted
 * again and print the same; what is refused must give one line. The part of an input behind its
 * first form feed, if there is one, is an override: KEY=VALUE.
 */
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "fuzz/fuzz.h"

static void expect_one_line(const struct error *err)
{
    if (err->text[0] == '\0' || strpbrk(err->text, "\r\n\x1b"))
        abort();
    if (err->code != EX_CONFIG)
        abort();
}

static char *print(const struct config *config)
{
    char *text;
    struct error err = { 0 };
    if (config_print(config, &text, &err))
        abort();
    return text;
}

static void round_trip(const struct config *config)
{
    char *text = print(config), *plan_text;
    struct config *again;
    struct error err = { 0 };
    if (config_parse("again", text, strlen(text), NULL, 0, &again, &err))
        abort();
    char *text_again = print(again);
    if (strcmp(text, text_again) != 0 || config_plan_text(again, &plan_text, &err))
        abort();
    free(plan_text);
    free(text_again);
    free(text);
    config_free(again);
}

static char *copy_text(const uint8_t *bytes, size_t count)
{
    char *text = malloc(count + 1);
    if (!text)
        abort();
    memcpy(text, bytes, count);
    text[count] = '\0';
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    const uint8_t *feed = count ? memchr(bytes, '\f', count) : NULL;
    size_t file_bytes = feed ? (size_t)(feed - bytes) : count;
    char *text = copy_text(bytes, file_bytes);
    char *key = feed ? copy_text(feed + 1, count - file_bytes - 1) : NULL;
    char *equals = key ? strchr(key, '=') : NULL;
    if (equals)
        *equals = '\0';
    struct config_override override = { key, equals ? equals + 1 : "" };
    struct config *config = NULL;
    struct error err = { 0 };
    if (config_parse("fuzz", text, file_bytes, &override, key != NULL, &config, &err))
        expect_one_line(&err);
    else
        round_trip(config);
    config_free(config);
    free(key);
    free(text);
    return 0;
}
