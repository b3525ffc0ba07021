/* A message as text and as JSON. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "observe/log_line.h"

static const struct log_message message = {
    .time = "2025-01-31T12:00:00.123Z",
    .level = LOG_LEVEL_WARNING,
    .text = "rank is slow",
    .fields =
        (const struct log_field[]){ { .key = "client", .kind = LOG_FIELD_TEXT, .text = "node 7" },
                                    { .key = "dp", .kind = LOG_FIELD_UINT, .uint = 3 },
                                    { .key = "lag_s", .kind = LOG_FIELD_REAL, .real = 2.5 },
                                    { .kind = LOG_FIELD_END } },
};

static const char *text_of(enum log_level level, const char *text, const struct log_field *fields)
{
    static char line[LOG_LINE_BYTES];
    struct log_message plain = { NULL, level, text, fields };
    size_t bytes = log_line_text(&plain, line, sizeof line);
    cr_assert_eq(strlen(line), bytes);
    return line;
}

Test(log_line, text)
{
    char line[LOG_LINE_BYTES];
    size_t bytes = log_line_text(&message, line, sizeof line);
    cr_expect_str_eq(line, "2025-01-31T12:00:00.123Z warning: rank is slow client=\"node 7\" dp=3 "
                           "lag_s=2.5\n");
    cr_expect_eq(bytes, strlen(line));
}

Test(log_line, text_without_time_or_fields)
{
    cr_expect_str_eq(text_of(LOG_LEVEL_ERROR, "no", NULL), "error: no\n");
    cr_expect_str_eq(text_of(LOG_LEVEL_INFO, "", NULL), "info: \n");
    cr_expect_str_eq(text_of(LOG_LEVEL_DEBUG, "x", (struct log_field[]){ log_end() }),
                     "debug: x\n");
}

Test(log_line, text_quotes_and_escapes)
{
    struct log_field fields[] = {
        log_text("a", "plain/9"),  log_text("b", ""),    log_text("c", NULL),
        log_text("d", "x\"y\\"),   log_text("e", "k=v"), log_text("f", "two\nlines\x1b[2J\x7f"),
        log_uint("g", UINT64_MAX), log_real("h", NAN),   log_end(),
    };
    cr_expect_str_eq(text_of(LOG_LEVEL_INFO, "m\r\n", fields),
                     "info: m\\x0d\\n a=plain/9 b=\"\" c=\"\" d=\"x\\\"y\\\\\" e=\"k=v\" "
                     "f=two\\nlines\\x1b[2J\\x7f g=18446744073709551615 h=nan\n");
}

Test(log_line, text_is_cut_to_fit)
{
    char line[256], value[1024];
    memset(value, 'v', sizeof value - 1);
    value[sizeof value - 1] = 0;
    struct log_field fields[] = { log_text("key", value), log_end() };
    struct log_message long_one = { NULL, LOG_LEVEL_INFO, "m", fields };
    size_t bytes = log_line_text(&long_one, line, sizeof line);
    cr_expect_eq(bytes, strlen(line));
    cr_expect_lt(bytes, sizeof line);
    cr_expect_str_eq(line + bytes - 6, "v ...\n");
}

static json_t *parse(const struct log_message *of, size_t room)
{
    char line[LOG_LINE_BYTES];
    size_t bytes = log_line_json(of, line, room);
    cr_assert_eq(bytes, strlen(line));
    cr_assert_lt(bytes, room);
    cr_assert_eq(strchr(line, '\n'), line + bytes - 1, "one line");
    json_error_t error;
    json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, &error);
    cr_assert_not_null(object, "%s: %s", error.text, line);
    return object;
}

Test(log_line, json)
{
    char line[LOG_LINE_BYTES];
    log_line_json(&message, line, sizeof line);
    cr_expect_str_eq(line, "{\"time\":\"2025-01-31T12:00:00.123Z\",\"level\":\"warning\","
                           "\"message\":\"rank is slow\",\"client\":\"node 7\",\"dp\":3,"
                           "\"lag_s\":2.5}\n");
}

Test(log_line, json_holds_any_text_and_number)
{
    struct log_field fields[] = {
        log_text("a", "two\nlines\x1b \"quoted\" \\"),
        log_text("b", "broken \xff\xc3 utf-8"),
        log_text("c", "Größe"),
        log_text("d", NULL),
        log_uint("e", UINT64_MAX),
        log_real("f", INFINITY),
        log_end(),
    };
    struct log_message odd = { NULL, LOG_LEVEL_INFO, "bad \x80", fields };
    json_t *object = parse(&odd, LOG_LINE_BYTES);
    cr_expect_str_eq(json_string_value(json_object_get(object, "a")),
                     "two\nlines\x1b \"quoted\" \\");
    cr_expect_str_eq(json_string_value(json_object_get(object, "b")), "broken ?? utf-8");
    cr_expect_str_eq(json_string_value(json_object_get(object, "c")), "Größe");
    cr_expect_str_eq(json_string_value(json_object_get(object, "d")), "");
    cr_expect(json_is_number(json_object_get(object, "e")));
    cr_expect(json_is_null(json_object_get(object, "f")));
    cr_expect_str_eq(json_string_value(json_object_get(object, "message")), "bad ?");
    cr_expect_null(json_object_get(object, "time"));
    json_decref(object);
}

Test(log_line, json_that_does_not_fit_keeps_its_head)
{
    char value[1024];
    memset(value, 'v', sizeof value - 1);
    value[sizeof value - 1] = 0;
    struct log_field fields[] = { log_text("key", value), log_end() };
    struct log_message long_one = { "now", LOG_LEVEL_ERROR, value, fields };
    json_t *object = parse(&long_one, 512);
    cr_expect_str_eq(json_string_value(json_object_get(object, "level")), "error");
    cr_expect_str_eq(json_string_value(json_object_get(object, "truncated")), "yes");
    cr_expect_eq(strlen(json_string_value(json_object_get(object, "message"))), 63);
    json_decref(object);
}

/* The worst text for a short head: every byte of it becomes six. */
Test(log_line, json_head_fits_whatever_it_holds)
{
    char value[1024];
    memset(value, '\x01', sizeof value - 1);
    value[sizeof value - 1] = 0;
    struct log_message worst = { "2025-01-31T12:00:00.123Z", LOG_LEVEL_WARNING, value, NULL };
    json_decref(parse(&worst, 512));
}
