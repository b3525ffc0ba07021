#include "wire/key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#define FILE_BYTES 4096 /* a key and some comment */

static const char alphabet[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               ".-:+=^!/*?&<>()[]{}@%$#";

bool wire_key_valid(const char *text, size_t bytes)
{
    if (bytes != WIRE_KEY_CHARACTERS)
        return false;
    for (size_t at = 0; at < bytes; at += 5) {
        uint64_t number = 0; /* five characters are 32 bits */
        for (size_t i = at; i < at + 5; i++) {
            const char *digit = text[i] ? strchr(alphabet, text[i]) : NULL;
            if (!digit)
                return false;
            number = number * 85 + (uint64_t)(digit - alphabet);
        }
        if (number > UINT32_MAX)
            return false;
    }
    return true;
}

const char *wire_key_word(enum wire_key_kind kind)
{
    return kind == WIRE_KEY_SECRET ? "secret" : "public";
}

/* The first line that is neither empty nor a comment; *ret_bytes is 0 when there is none. */
static const char *first_line(const char **at, const char *end, size_t *ret_bytes)
{
    while (*at < end) {
        const char *line = *at;
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t bytes = (size_t)((newline ? newline : end) - line);
        *at = newline ? newline + 1 : end;
        while (bytes > 0 && strchr(" \t\r", line[bytes - 1]))
            bytes--;
        if (bytes > 0 && *line != '#') {
            *ret_bytes = bytes;
            return line;
        }
    }
    *ret_bytes = 0;
    return end;
}

int wire_key_parse(const char *name, const char *text, size_t bytes, enum wire_key_kind kind,
                   char ret_key[WIRE_KEY_BYTES], char *why, size_t why_bytes)
{
    const char *word = wire_key_word(kind), *at = text, *end = text + bytes;
    const char *other = wire_key_word(kind == WIRE_KEY_SECRET ? WIRE_KEY_PUBLIC : WIRE_KEY_SECRET);
    size_t length, rest, letters = strlen(word);
    const char *line = first_line(&at, end, &length);
    first_line(&at, end, &rest);
    bool right = length == letters + 1 + WIRE_KEY_CHARACTERS && !rest &&
                 memcmp(line, word, letters) == 0 && line[letters] == ' ';
    if (right && wire_key_valid(line + letters + 1, WIRE_KEY_CHARACTERS)) {
        memcpy(ret_key, line + letters + 1, WIRE_KEY_CHARACTERS);
        ret_key[WIRE_KEY_CHARACTERS] = '\0';
        return 0;
    }
    bool mixed = length > letters && memcmp(line, other, letters) == 0;
    snprintf(why, why_bytes,
             "%.200s: found %s, expected one line '%s KEY' with a key of 40 characters, as "
             "ballastctl keygen writes it",
             name, mixed ? "the other key of a pair" : "no such key", word);
    return EX_CONFIG;
}

static int unreadable(const char *path, int number, char *why, size_t why_bytes)
{
    snprintf(why, why_bytes, "%.200s: cannot read the key: %s", path, strerror(number));
    return EX_NOINPUT;
}

static int check_exposure(mode_t mode, const char *path, char *why, size_t why_bytes)
{
    if (!(mode & (S_IRWXG | S_IRWXO)))
        return 0;
    snprintf(why, why_bytes,
             "%.150s: mode %04o, expected 0600: others can use this secret key; make a new one if "
             "they may have read it, or run: chmod 600 %.150s",
             path, (unsigned)(mode & 07777), path);
    return EX_CONFIG;
}

static int read_text(int file, const char *path, char *text, size_t *ret_bytes, char *why,
                     size_t why_bytes)
{
    size_t bytes = 0;
    while (bytes < FILE_BYTES) {
        ssize_t got = read(file, text + bytes, FILE_BYTES - bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return unreadable(path, errno, why, why_bytes);
        if (got == 0)
            break;
        bytes += (size_t)got;
    }
    *ret_bytes = bytes;
    return 0;
}

/* Modes are asked of the file that is open, which cannot be another one a moment later. */
static int read_open_file(int file, const char *path, enum wire_key_kind kind,
                          char ret_key[WIRE_KEY_BYTES], char *why, size_t why_bytes)
{
    struct stat facts;
    if (fstat(file, &facts) != 0)
        return unreadable(path, errno, why, why_bytes);
    if (!S_ISREG(facts.st_mode)) {
        snprintf(why, why_bytes, "%.200s: this is no regular file, expected one that holds a key",
                 path);
        return EX_CONFIG;
    }
    char text[FILE_BYTES], key[WIRE_KEY_BYTES];
    size_t bytes = 0;
    int status = read_text(file, path, text, &bytes, why, why_bytes);
    if (!status)
        status = wire_key_parse(path, text, bytes, kind, key, why, why_bytes);
    if (!status && kind == WIRE_KEY_SECRET)
        status = check_exposure(facts.st_mode, path, why, why_bytes);
    if (!status)
        memcpy(ret_key, key, sizeof key);
    explicit_bzero(text, sizeof text);
    explicit_bzero(key, sizeof key);
    return status;
}

int wire_key_file_read(const char *path, enum wire_key_kind kind, char ret_key[WIRE_KEY_BYTES],
                       char *why, size_t why_bytes)
{
    /* O_NONBLOCK: a pipe by that name must not hold us up. */
    int file;
    do
        file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (file < 0 && errno == EINTR);
    if (file < 0)
        return unreadable(path, errno, why, why_bytes);
    int status = read_open_file(file, path, kind, ret_key, why, why_bytes);
    close(file);
    return status;
}
