/* Every key that is accepted is explained, in the sample configuration and in the manual page. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/keys.h"
#include "support/temp_dir.h"

#define SAMPLE BALLAST_SOURCE_DIR "/deploy/ballast.yaml"
#define MANUAL BALLAST_SOURCE_DIR "/deploy/man/ballast.yaml.5"

/* The last name of a path; NULL for items of lists, which have none. */
static const char *last_name(const char *path)
{
    if (path[strlen(path) - 1] == ']')
        return NULL;
    const char *dot = strrchr(path, '.');
    return dot ? dot + 1 : path;
}

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

/* Is this the line of `key`? A key may be commented out, or begin an item of a list. */
static bool is_key_line(const char *line, const char *key)
{
    line += strspn(line, " #-");
    size_t bytes = strlen(key);
    return !strncmp(line, key, bytes) && line[bytes] == ':' && strchr(" \n", line[bytes + 1]);
}

static bool is_comment(const char *line)
{
    return line[strspn(line, " ")] == '#';
}

/* In the order of key_rules, so that keys of one name in two sections are told apart. */
Test(lint_sample, explains_every_key)
{
    size_t bytes;
    char *sample = (char *)file_read_all(SAMPLE, &bytes);
    const char *line = sample, *previous = "";
    for (const struct key_rule *rule = key_rules; rule->path; rule++) {
        const char *name = last_name(rule->path);
        if (!name)
            continue;
        const char *from = line;
        while (*line && !is_key_line(line, name)) {
            previous = line;
            line = next_line(line);
        }
        cr_assert(*line, "%s: no key %s behind line: %.60s", SAMPLE, rule->path, from);
        cr_expect(is_comment(previous) && !is_key_line(previous, name), "%s: no comment above %s",
                  SAMPLE, rule->path);
        previous = line;
        line = next_line(line);
    }
    free(sample);
}

Test(lint_sample, manual_page_explains_every_key)
{
    size_t bytes;
    char *manual = (char *)file_read_all(MANUAL, &bytes);
    for (const struct key_rule *rule = key_rules; rule->path; rule++) {
        if (!last_name(rule->path))
            continue;
        char item[128];
        snprintf(item, sizeof item, "\n.It Ic %s", rule->path);
        const char *found = strstr(manual, item);
        char after = found ? found[strlen(item)] : 0;
        cr_expect(after == '\n' || after == ' ', "%s: no item for %s", MANUAL, rule->path);
    }
    free(manual);
}
