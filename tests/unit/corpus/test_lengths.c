/* The `lengths` format. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "corpus/corpus.h"
#include "one_source.h"

static struct temp_dir dir;

static void set_up(void)
{
    dir = temp_dir_make();
}

static void tear_down(void)
{
    temp_dir_remove(&dir);
}

TestSuite(lengths, .init = set_up, .fini = tear_down);

static void write_text(const char *text)
{
    char path[TEMP_PATH_BYTES];
    file_write(temp_path(&dir, "x.txt", path), text, strlen(text));
}

static struct corpus *open_text(const char *text)
{
    write_text(text);
    return must_open(SOURCE_LENGTHS, &dir, "x.txt", 50257);
}

static void must_be_bad(const char *text, const char *const *fragments)
{
    write_text(text);
    must_refuse(SOURCE_LENGTHS, &dir, "x.txt", EX_DATAERR, fragments);
}

Test(lengths, comments_blanks_and_line_endings)
{
    struct corpus *corpus =
        open_text("# measured\n\n12\r\n  7\t\n0\n   \n\r\n5 # five\n2147483647");
    const struct source *source = &corpus->sources[0];
    static const uint64_t expected[] = { 12, 7, 0, 5, 2147483647 };
    cr_assert_eq(source->documents, 5);
    for (uint64_t i = 0; i < 5; i++)
        cr_expect_eq(source_document_tokens(source, i), expected[i]);
    cr_expect_eq(source->empty_documents, 1);
    cr_expect_eq(source->tokens, UINT64_C(2147483671));
    cr_expect_not(corpus->has_tokens);
    corpus_close(corpus);
}

Test(lengths, bad_lines_are_named_by_number)
{
    must_be_bad("1\n2\n-5\n", SAYS("x.txt", "line 3", "'-5'"));
    must_be_bad("# c\n\nseven\n", SAYS("line 3", "'seven'"));
    must_be_bad("1\n2147483648\n", SAYS("line 2", "'2147483648'", "2147483647"));
    must_be_bad("99999999999999999999999999999999999999\n", SAYS("line 1"));
    must_be_bad("3.5\n", SAYS("line 1", "'3.5'"));
    must_be_bad("12 34\n", SAYS("line 1", "'12 34'"));
    must_be_bad("1e3", SAYS("line 1", "'1e3'"));
    must_be_bad("0x10\n", SAYS("line 1"));
}

Test(lengths, binary_is_refused_in_printable_words)
{
    char path[TEMP_PATH_BYTES];
    file_write(temp_path(&dir, "x.txt", path), "\0\1\2\xff\n", 5);
    must_refuse(SOURCE_LENGTHS, &dir, "x.txt", EX_DATAERR, SAYS("line 1", "'?\?\?\?'"));
}

Test(lengths, nothing_in_it_is_an_error_at_once)
{
    must_be_bad("", SAYS("source s", "no token"));
    must_be_bad("# nothing\n\n", SAYS("0 documents"));
    must_be_bad("0\n0\n", SAYS("2 documents", "no token"));
}

Test(lengths, directories_and_fifos)
{
    char path[TEMP_PATH_BYTES];
    cr_assert_eq(mkdir(temp_path(&dir, "d", path), 0777), 0);
    must_refuse(SOURCE_LENGTHS, &dir, "d", EX_DATAERR, SAYS("a directory"));
    cr_assert_eq(mkfifo(temp_path(&dir, "f", path), 0666), 0);
    must_refuse(SOURCE_LENGTHS, &dir, "f", EX_DATAERR, SAYS("a FIFO"));
}

Test(lengths, there_is_nothing_to_read)
{
    struct corpus *corpus = open_text("5\n");
    uint16_t token;
    struct error err = { 0 };
    cr_expect_eq(corpus_read(corpus, 0, 0, 0, 1, &token, &err), EX_UNAVAILABLE);
    must_say(err.text, SAYS("source s", "no tokens"));
    corpus_close(corpus);
}

/* More than one block of input, lines across their border. */
Test(lengths, long_files)
{
    enum { COUNT = 400000 };
    char *text = malloc(COUNT * 7 + 1), *to = text;
    cr_assert(text != NULL);
    for (int i = 0; i < COUNT; i++)
        to += sprintf(to, "%d\n", i);
    struct corpus *corpus = open_text(text);
    free(text);
    cr_assert_eq(corpus->documents, COUNT);
    for (uint64_t i = 0; i < COUNT; i++)
        cr_assert_eq(source_document_tokens(&corpus->sources[0], i), i);
    corpus_close(corpus);
}
