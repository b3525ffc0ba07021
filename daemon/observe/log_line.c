#include "observe/log_line.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text that fills up and then only remembers that it was too small. */
struct fill {
    char *text;
    size_t bytes, used;
    bool cut;
};

static void put(struct fill *fill, char c)
{
    if (fill->used < fill->bytes)
        fill->text[fill->used++] = c;
    else
        fill->cut = true;
}

static void put_text(struct fill *fill, const char *text)
{
    while (*text)
        put(fill, *text++);
}

/* Escapes what could end the line, move the cursor, or be taken for a quote. */
static void put_escaped(struct fill *fill, const char *text, bool quoted)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < ' ' || c == 127) {
            char escape[8];
            snprintf(escape, sizeof escape, "\\x%02x", c);
            put_text(fill, c == '\n' ? "\\n" : escape);
            continue;
        }
        if (quoted && (c == '"' || c == '\\'))
            put(fill, '\\');
        put(fill, *text);
    }
}

static void put_value(struct fill *fill, const char *text)
{
    bool plain = *text && !strpbrk(text, " \"\\=");
    if (!plain)
        put(fill, '"');
    put_escaped(fill, text, !plain);
    if (!plain)
        put(fill, '"');
}

static void put_field(struct fill *fill, const struct log_field *field)
{
    char number[32];
    put(fill, ' ');
    put_text(fill, field->key);
    put(fill, '=');
    switch (field->kind) {
    case LOG_FIELD_UINT:
        snprintf(number, sizeof number, "%" PRIu64, field->uint);
        put_text(fill, number);
        break;
    case LOG_FIELD_REAL:
        snprintf(number, sizeof number, "%.6g", field->real);
        put_text(fill, number);
        break;
    default:
        put_value(fill, field->text ? field->text : "");
    }
}

const char *log_level_name(enum log_level level)
{
    static const char *const names[] = { "error", "warning", "info", "debug" };
    return names[level];
}

size_t log_line_text(const struct log_message *message, char *line, size_t bytes)
{
    static const char mark[] = " ...\n";
    struct fill fill = { .text = line, .bytes = bytes - sizeof mark };
    if (message->time) {
        put_text(&fill, message->time);
        put(&fill, ' ');
    }
    put_text(&fill, log_level_name(message->level));
    put_text(&fill, ": ");
    put_escaped(&fill, message->text, false);
    for (const struct log_field *f = message->fields; f && f->kind != LOG_FIELD_END; f++)
        put_field(&fill, f);
    const char *end = fill.cut ? mark : "\n";
    memcpy(line + fill.used, end, strlen(end) + 1);
    return fill.used + strlen(end);
}

/* jansson takes UTF-8 only: other texts lose every byte above ASCII. */
static json_t *json_text(const char *text)
{
    json_t *value = json_string(text);
    if (value)
        return value;
    char *copy = strdup(text);
    if (!copy)
        return NULL;
    for (char *c = copy; *c; c++)
        if ((unsigned char)*c >= 128)
            *c = '?';
    value = json_string(copy);
    free(copy);
    return value;
}

static json_t *json_field(const struct log_field *field)
{
    switch (field->kind) {
    case LOG_FIELD_UINT:
        return field->uint <= INT64_MAX ? json_integer((json_int_t)field->uint)
                                        : json_real((double)field->uint);
    case LOG_FIELD_REAL:
        return isfinite(field->real) ? json_real(field->real) : json_null();
    default:
        return json_text(field->text ? field->text : "");
    }
}

static json_t *json_message(const struct log_message *message)
{
    json_t *object = json_object();
    if (message->time)
        json_object_set_new(object, "time", json_string(message->time));
    json_object_set_new(object, "level", json_string(log_level_name(message->level)));
    json_object_set_new(object, "message", json_text(message->text));
    for (const struct log_field *f = message->fields; f && f->kind != LOG_FIELD_END; f++)
        json_object_set_new(object, f->key, json_field(f));
    return object;
}

/* Length of the object's text; more than `bytes` when it does not fit. */
static size_t dump(const json_t *object, char *line, size_t bytes)
{
    return json_dumpb(object, line, bytes, JSON_COMPACT | JSON_REAL_PRECISION(6));
}

/* The head of a message whose fields, or text, are too long for a line. */
static json_t *json_head(const struct log_message *message)
{
    char text[64];
    snprintf(text, sizeof text, "%s", message->text);
    struct log_message head = *message;
    head.text = text;
    head.fields = (struct log_field[]){ log_text("truncated", "yes"), log_end() };
    return json_message(&head);
}

size_t log_line_json(const struct log_message *message, char *line, size_t bytes)
{
    json_t *object = json_message(message);
    size_t used = dump(object, line, bytes - 2);
    if (used > bytes - 2) {
        json_decref(object);
        object = json_head(message);
        used = dump(object, line, bytes - 2);
    }
    json_decref(object);
    line[used++] = '\n';
    line[used] = 0;
    return used;
}
