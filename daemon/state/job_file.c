#include "state/job_file.h"

#include <stdio.h>
#include <string.h>

/* A run of characters within a text. */
struct span {
    const char *start;
    size_t count;
};

static bool same(struct span a, struct span b)
{
    return a.count == b.count && memcmp(a.start, b.start, a.count) == 0;
}

/* Takes the next part up to `end` off the front of *rest; false when there is none. */
static bool take(struct span *rest, char end, struct span *ret_part)
{
    if (rest->count == 0)
        return false;
    const char *found = memchr(rest->start, end, rest->count);
    size_t count = found ? (size_t)(found - rest->start) : rest->count;
    *ret_part = (struct span){ rest->start, count };
    count += found != NULL;
    rest->start += count;
    rest->count -= count;
    return true;
}

/* "source web" of "source web weight=1 ..."; "seed" of "seed=1". */
static struct span title_of(struct span line)
{
    const char *equals = memchr(line.start, '=', line.count);
    size_t count = equals ? (size_t)(equals - line.start) : line.count;
    const char *blank = memrchr(line.start, ' ', count);
    if (equals && blank)
        count = (size_t)(blank - line.start);
    return (struct span){ line.start, count };
}

/* The fields behind the title, empty where it is the name of the only one. */
static struct span fields_of(struct span line, struct span title)
{
    size_t skipped = title.count;
    if (skipped < line.count && line.start[skipped] == ' ')
        return (struct span){ line.start + skipped + 1, line.count - skipped - 1 };
    return (struct span){ line.start, 0 };
}

static bool find_line(const char *job, struct span title, struct span *ret_line)
{
    struct span rest = { job, strlen(job) };
    while (take(&rest, '\n', ret_line))
        if (same(title_of(*ret_line), title))
            return true;
    return false;
}

static bool find_field(struct span fields, struct span name, struct span *ret_field)
{
    struct span rest = fields;
    while (take(&rest, ' ', ret_field)) {
        struct span left = *ret_field, its_name;
        if (take(&left, '=', &its_name) && same(its_name, name))
            return true;
    }
    return false;
}

struct difference {
    char *text;
    size_t bytes, used;
    bool full;
};

/* Adds one difference whole, or marks that there were more. */
static void add(struct difference *out, const char *one)
{
    static const char more[] = "; ...";
    size_t count = strlen(one), separator = out->used ? 2 : 0;
    if (out->full)
        return;
    if (out->used + separator + count + sizeof more > out->bytes) {
        out->full = true;
        if (out->used && out->used + sizeof more <= out->bytes)
            memcpy(out->text + out->used, more, sizeof more);
        return;
    }
    memcpy(out->text + out->used, "; ", separator);
    memcpy(out->text + out->used + separator, one, count + 1);
    out->used += separator + count;
}

static int shown(struct span span)
{
    return span.count > 100 ? 100 : (int)span.count;
}

static void compare_field(struct difference *out, struct span title, struct span was,
                          struct span fields)
{
    char one[400];
    struct span left = was, name = { was.start, 0 }, now;
    if (!take(&left, '=', &name) || !find_field(fields, name, &now))
        now = (struct span){ "none", 4 };
    if (same(was, now))
        return;
    if (name.count == 11 && memcmp(name.start, "fingerprint", 11) == 0)
        snprintf(one, sizeof one, "%.*s: fingerprint differs", shown(title), title.start);
    else
        snprintf(one, sizeof one, "%.*s: %.*s -> %.*s", shown(title), title.start, shown(was),
                 was.start, shown(now), now.start);
    add(out, one);
}

static void compare_line(struct difference *out, struct span was, struct span now)
{
    struct span title = title_of(was);
    struct span old_fields = fields_of(was, title), new_fields = fields_of(now, title), field;
    if (same(was, now))
        return;
    if (old_fields.count == 0) {
        char one[256];
        snprintf(one, sizeof one, "%.*s -> %.*s", shown(was), was.start, shown(now), now.start);
        add(out, one);
        return;
    }
    while (take(&old_fields, ' ', &field))
        compare_field(out, title, field, new_fields);
}

static void tell_alone(struct difference *out, struct span line, const char *what)
{
    char one[256];
    struct span title = title_of(line);
    snprintf(one, sizeof one, "%.*s %s", shown(title), title.start, what);
    add(out, one);
}

const char *job_difference(const char *old_job, const char *new_job, char *text, size_t bytes)
{
    struct difference out = { .text = text, .bytes = bytes };
    struct span rest = { old_job, strlen(old_job) }, line, other;
    if (bytes)
        *text = '\0';
    while (take(&rest, '\n', &line)) {
        if (find_line(new_job, title_of(line), &other))
            compare_line(&out, line, other);
        else
            tell_alone(&out, line, "is gone");
    }
    rest = (struct span){ new_job, strlen(new_job) };
    while (take(&rest, '\n', &line))
        if (!find_line(old_job, title_of(line), &other))
            tell_alone(&out, line, "is new");
    return text;
}

/* ---- what is the same ---- */

static bool begins(struct span line, const char *word)
{
    size_t count = strlen(word);
    return line.count >= count && memcmp(line.start, word, count) == 0;
}

/* The next line of the configuration; an empty one at the end. */
static struct span next_of_configuration(struct span *rest)
{
    struct span line;
    while (take(rest, '\n', &line))
        if (!begins(line, "corpus ") && !begins(line, "ledger "))
            return line;
    return (struct span){ "", 0 };
}

bool job_same_configuration(const char *old_job, const char *new_job)
{
    struct span a = { old_job, strlen(old_job) }, b = { new_job, strlen(new_job) };
    for (;;) {
        struct span one = next_of_configuration(&a), other = next_of_configuration(&b);
        if (!same(one, other))
            return false;
        if (one.count == 0)
            return true;
    }
}

bool job_same_source(const char *old_job, const char *new_job, const char *source)
{
    char title[128];
    struct span was, now;
    snprintf(title, sizeof title, "corpus %.100s", source);
    struct span wanted = { title, strlen(title) };
    return find_line(old_job, wanted, &was) && find_line(new_job, wanted, &now) && same(was, now);
}
