#include "serve/allow_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/again.h"
#include "base/grow.h"
#include "serve/expiry.h"

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define MOST_WORDS 5 /* one more than a line may have */
#define EXAMPLE "KEY trainer|operator NAME [2027-01-31]"

struct word {
    const char *text;
    size_t bytes;
};

/* The line being read, for errors. */
struct place {
    const char *file;
    unsigned line;
};

static bool is(const struct word *word, const char *text)
{
    return word->bytes == strlen(text) && memcmp(word->text, text, word->bytes) == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static size_t split(const char *line, size_t bytes, struct word words[MOST_WORDS])
{
    size_t count = 0, at = 0;
    while (count < MOST_WORDS) {
        while (at < bytes && is_blank(line[at]))
            at++;
        size_t start = at;
        while (at < bytes && !is_blank(line[at]))
            at++;
        if (at == start)
            break;
        words[count++] = (struct word){ line + start, at - start };
    }
    return count;
}

/* What a word of any bytes looks like in one line of an error. */
static const char *show(const struct word *word, char text[48])
{
    size_t bytes = word->bytes < 44 ? word->bytes : 44;
    for (size_t i = 0; i < bytes; i++)
        text[i] = word->text[i] >= ' ' && word->text[i] < 127 ? word->text[i] : '?';
    memcpy(text + bytes, bytes < word->bytes ? "..." : "", bytes < word->bytes ? 4 : 1);
    return text;
}

static int read_key(const struct place *place, const struct word *word,
                    struct allowed_client *client, struct error *err)
{
    char shown[48];
    if (!wire_key_valid(word->text, word->bytes))
        return error_set(err, EX_CONFIG,
                         "%s:%u: found '%s', expected a public key of 40 characters, as it stands "
                         "in a .pub file of ballastctl keygen%s",
                         place->file, place->line, show(word, shown),
                         *word->text == '#' ? "; a comment begins with '#' and a blank" : "");
    memcpy(client->key, word->text, word->bytes);
    client->key[word->bytes] = '\0';
    return 0;
}

static int read_role(const struct place *place, const struct word *word,
                     struct allowed_client *client, struct error *err)
{
    char shown[48];
    if (!is(word, "trainer") && !is(word, "operator"))
        return error_set(err, EX_CONFIG, "%s:%u: found role '%s', expected trainer or operator",
                         place->file, place->line, show(word, shown));
    client->role = is(word, "operator") ? ROLE_OPERATOR : ROLE_TRAINER;
    return 0;
}

static int read_name(const struct place *place, const struct word *word,
                     struct allowed_client *client, struct error *err)
{
    char shown[48];
    bool right = word->bytes < sizeof client->name;
    for (size_t i = 0; i < word->bytes && right; i++)
        right = word->text[i] && strchr(NAME_CHARACTERS, word->text[i]);
    if (!right)
        return error_set(err, EX_CONFIG,
                         "%s:%u: found name '%s', expected at most 63 letters, digits, '.', '_' "
                         "and '-'",
                         place->file, place->line, show(word, shown));
    memcpy(client->name, word->text, word->bytes);
    client->name[word->bytes] = '\0';
    return 0;
}

static int read_expiry(const struct place *place, const struct word *word,
                       struct allowed_client *client, struct error *err)
{
    char shown[48];
    if (!expiry_parse(word->text, word->bytes, &client->last_second))
        return error_set(err, EX_CONFIG,
                         "%s:%u: found expiry '%s', expected the last day, as in 2027-01-31, or "
                         "the last second, as in 2027-01-31T12:00:00Z",
                         place->file, place->line, show(word, shown));
    return 0;
}

static int read_line(const struct place *place, const char *line, size_t bytes,
                     struct allow_list *list, struct error *err)
{
    struct word words[MOST_WORDS];
    size_t count = split(line, bytes, words);
    if (count == 0 || is(&words[0], "#"))
        return 0;
    struct allowed_client client = { .last_second = INT64_MAX, .line = place->line };
    int status = read_key(place, &words[0], &client, err);
    if (!status && (count < 3 || count > 4))
        status = error_set(err, EX_CONFIG, "%s:%u: found %s%zu words, expected %s", place->file,
                           place->line, count > 4 ? "more than 4, at least " : "", count, EXAMPLE);
    if (!status)
        status = read_role(place, &words[1], &client, err);
    if (!status)
        status = read_name(place, &words[2], &client, err);
    if (!status && count == 4)
        status = read_expiry(place, &words[3], &client, err);
    if (status)
        return status;
    if (!grow(list->clients, &list->capacity, list->count + 1))
        return error_memory(err, "reading the list of clients");
    list->clients[list->count++] = client;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct allowed_client *one = a, *other = b;
    return strcmp(one->key, other->key);
}

/* Sorts, and refuses a key that stands there twice: which line were to count? */
static int finish(const char *name, struct allow_list *list, struct error *err)
{
    if (list->count == 0)
        return error_set(err, EX_CONFIG,
                         "%s: found no client, so that nobody could connect; expected lines %s",
                         name, EXAMPLE);
    qsort(list->clients, list->count, sizeof *list->clients, compare);
    for (size_t i = 1; i < list->count; i++) {
        const struct allowed_client *one = &list->clients[i - 1], *other = &list->clients[i];
        if (compare(one, other) != 0)
            continue;
        bool ordered = one->line < other->line;
        return error_set(err, EX_CONFIG, "%s:%u: the key of line %u again: remove one of them",
                         name, ordered ? other->line : one->line,
                         ordered ? one->line : other->line);
    }
    return 0;
}

int allow_list_parse(const char *name, const char *text, size_t bytes, struct allow_list *ret_list,
                     struct error *err)
{
    struct allow_list list = { 0 };
    struct place place = { .file = name };
    int status = 0;
    for (size_t at = 0; at < bytes && !status;) {
        const char *newline = memchr(text + at, '\n', bytes - at);
        size_t length = newline ? (size_t)(newline - text) - at : bytes - at;
        place.line++;
        status = read_line(&place, text + at, length, &list, err);
        at += length + 1;
    }
    if (!status)
        status = finish(name, &list, err);
    if (status)
        allow_list_fini(&list);
    else
        *ret_list = list;
    return status;
}

static int cannot_read(const char *path, struct error *err)
{
    return error_set(err, errno == EIO ? EX_IOERR : EX_NOINPUT,
                     "%s: cannot read the list of clients: %s", path, strerror(errno));
}

static int check_file(int file, const char *path, struct error *err)
{
    struct stat facts;
    if (fstat(file, &facts) != 0)
        return cannot_read(path, err);
    if (!S_ISREG(facts.st_mode))
        return error_set(err, EX_CONFIG, "%s: this is no regular file, expected a list of clients",
                         path);
    if (facts.st_mode & S_IWOTH)
        return error_set(err, EX_CONFIG,
                         "%s: mode %04o: anybody could let themselves in; run: chmod o-w %s", path,
                         (unsigned)(facts.st_mode & 07777), path);
    if (facts.st_size > (off_t)ALLOW_LIST_MAX_BYTES)
        return error_set(err, EX_CONFIG, "%s: found %lld bytes, expected at most %u", path,
                         (long long)facts.st_size, ALLOW_LIST_MAX_BYTES);
    return 0;
}

static int read_all(int file, const char *path, char *text, size_t *ret_bytes, struct error *err)
{
    size_t bytes = 0;
    while (bytes < ALLOW_LIST_MAX_BYTES) {
        ssize_t got = read(file, text + bytes, ALLOW_LIST_MAX_BYTES - bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cannot_read(path, err);
        if (got == 0)
            break;
        bytes += (size_t)got;
    }
    *ret_bytes = bytes;
    return 0;
}

int allow_list_load(const char *path, struct allow_list *ret_list, struct error *err)
{
    int file = open_again(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (file < 0)
        return cannot_read(path, err);
    char *text = malloc(ALLOW_LIST_MAX_BYTES);
    size_t bytes = 0;
    int status = text ? check_file(file, path, err) : error_memory(err, "reading the clients");
    if (!status)
        status = read_all(file, path, text, &bytes, err);
    close(file);
    if (!status)
        status = allow_list_parse(path, text, bytes, ret_list, err);
    free(text);
    return status;
}

static int compare_key(const void *key, const void *client)
{
    return strcmp(key, ((const struct allowed_client *)client)->key);
}

const struct allowed_client *allow_list_find(const struct allow_list *list, const char *key)
{
    if (!list->count)
        return NULL;
    return bsearch(key, list->clients, list->count, sizeof *list->clients, compare_key);
}

void allow_list_fini(struct allow_list *list)
{
    free(list->clients);
    *list = (struct allow_list){ 0 };
}
