#include "vectors.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES (2 * VECTOR_MAX_BYTES + 128)

static void parse_hex(const char *text, struct vector *vector)
{
    if (strcmp(text, "-") == 0)
        return;
    vector->count = strlen(text) / 2;
    cr_assert_leq(vector->count, sizeof vector->bytes, "%s is too long", vector->name);
    for (size_t i = 0; i < vector->count; i++) {
        char pair[3] = { text[2 * i], text[2 * i + 1], 0 };
        vector->bytes[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
}

/* Copies a word that must fit, its end included. */
static void copy_word(char *field, size_t field_bytes, const char *word)
{
    size_t length = strlen(word);
    cr_assert_lt(length, field_bytes, "too long for its place: %s", word);
    memcpy(field, word, length + 1);
}

/* Splits `line` at blanks, in place. */
static void parse_line(char *line, struct vector *vector)
{
    char *words[4], *rest = line;
    size_t count = 0;
    while (count < 4 && (words[count] = strtok_r(rest, " \n", &rest)))
        count++;
    cr_assert_geq(count, 3, "a vector has at least three words");
    *vector = (struct vector){ 0 };
    copy_word(vector->kind, sizeof vector->kind, words[0]);
    copy_word(vector->name, sizeof vector->name, words[1]);
    if (count == 4)
        copy_word(vector->extra, sizeof vector->extra, words[2]);
    parse_hex(words[count - 1], vector);
}

struct vectors vectors_read(void)
{
    FILE *file = fopen(WIRE_VECTORS, "r");
    cr_assert_not_null(file, "cannot open %s", WIRE_VECTORS);
    struct vectors vectors = { calloc(512, sizeof *vectors.items), 0 };
    cr_assert_not_null(vectors.items);
    char line[LINE_BYTES];
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#' || line[0] == '\n')
            continue;
        cr_assert_lt(vectors.count, 512);
        parse_line(line, &vectors.items[vectors.count++]);
    }
    fclose(file);
    return vectors;
}

void vectors_fini(struct vectors *vectors)
{
    free(vectors->items);
}

const struct vector *vectors_find(const struct vectors *vectors, const char *kind, const char *name)
{
    const struct vector *found = NULL;
    for (size_t i = 0; i < vectors->count && !found; i++)
        if (strcmp(vectors->items[i].kind, kind) == 0 && strcmp(vectors->items[i].name, name) == 0)
            found = &vectors->items[i];
    cr_assert_not_null(found, "no vector %s %s", kind, name);
    return found;
}
