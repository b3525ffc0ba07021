#include "one_source.h"

#include <criterion/criterion.h>
#include <string.h>

int open_one(enum source_format format, const struct temp_dir *dir, const char *pattern,
             uint32_t vocab_size, struct corpus **ret_corpus, struct error *err)
{
    char name[] = "s", path[TEMP_PATH_BYTES];
    temp_path(dir, pattern, path);
    char *paths[] = { path };
    struct source_spec spec = {
        .name = name, .format = format, .paths = paths, .path_count = 1, .weight = 1
    };
    return corpus_open(&spec, 1, vocab_size, NULL, NULL, ret_corpus, err);
}

struct corpus *must_open(enum source_format format, const struct temp_dir *dir, const char *pattern,
                         uint32_t vocab_size)
{
    struct corpus *corpus = NULL;
    struct error err = { 0 };
    int code = open_one(format, dir, pattern, vocab_size, &corpus, &err);
    cr_assert_eq(code, 0, "%d: %s", code, err.text);
    return corpus;
}

void must_say(const char *text, const char *const *fragments)
{
    for (; *fragments; fragments++)
        cr_expect(strstr(text, *fragments) != NULL, "'%s' is not in '%s'", *fragments, text);
}

void must_refuse(enum source_format format, const struct temp_dir *dir, const char *pattern,
                 int code, const char *const *fragments)
{
    struct corpus *untouched = (struct corpus *)(void *)&code, *corpus = untouched;
    struct error err = { 0 };
    int got = open_one(format, dir, pattern, 0, &corpus, &err);
    cr_assert_eq(got, code, "status %d (%s), expected %d", got, err.text, code);
    cr_expect_eq(err.code, code);
    cr_expect(corpus == untouched);
    cr_expect(strchr(err.text, '\n') == NULL);
    must_say(err.text, fragments);
}
